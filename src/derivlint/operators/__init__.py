"""The operator book: facts and reference definitions of operators and helpers, by name and release.

Begin with :mod:`derivlint.operators.book` and :mod:`derivlint.operators.reference.definitions`.

    topics the meaning of the generators' lists literals      collections that Python modules define, from their text
    extraction    the lists of operators in PyTorch's generators records files with one line for each operator: its
    facts, and the releases for which they hold book          the facts at the release of given operators:
    ``book_of(natives)`` history       the indexes of all releases in one file: ``load_release(version)`` sources
    an installed PyTorch, a wheel or a checkout, as the files that facts come from detection the release of a
    derivatives file reference definitions of operators and helpers in the language of formulas: ``definitions``, the
    ``primitives`` in them, their ``interpretation`` over numbers or tensors, and derived facts shapes        sizes of
    outputs as functions of sizes of inputs python the C++ equivalents of Python notation: ``data/python.txt``

``data/generators.txt`` and ``data/entries.txt`` are extracted from the releases 2.1 to 2.15 by ``tools.release``, and
with the history bundled by ``tools.bundling``; ``data/derived.txt`` and ``data/trees.json`` are made by ``tools.docs``;
``data/by_hand.txt``, ``data/terms.txt``, ``data/primitives.txt`` and ``data/definitions`` are written. A checkout's own
generators count for that checkout.
"""

from derivlint.operators.book import Book, book_of, holds_for

__all__ = ["Book", "book_of", "holds_for"]
