"""Repairs: right formulas in the place of wrong or missing ones, found by edits or derived, and proved by the checker.

target
    A formula that is wrong, or a key without a formula (``candidates.Target``).
candidate
    A formula that may be right (``candidates.Candidate``), from one of the sources in ``suggest.SOURCES``.
judge
    The check of the file with a candidate in place: the first finding rejects it (``judge``).

Begin with ``suggest``. Rules import this package, so that it imports nothing above ``lint`` and ``graph``.
"""
