"""Facts about operators, by name and release.

The facts of released PyTorch are bundled as records (:mod:`derivlint.operators.records`); for a checkout, the lists of
its own generators replace them (:attr:`derivlint.schema.NativeFunctions.generator_lists`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from msgspec import Struct, json

from derivlint.operators.records import Release, read_records, releases_in
from derivlint.operators.topics import COMPLEX, DECOMPOSED, ENTRY
from derivlint.source.lazy import cached_property

if TYPE_CHECKING:
    from derivlint.schema import NativeFunction, NativeFunctions

#: The files of records: extracted from generators and derivatives.yaml, and written by hand.
GENERATORS = "generators.txt"
ENTRIES = "entries.txt"
BY_HAND = "by_hand.txt"
#: The release to assume if it is unknown: that of the default operators.
DEFAULT_RELEASE: Release = (2, 13)

_DATA = Path(__file__).parent / "data"
#: The derivatives of operators without reference definition, in the format of derivatives.yaml.
BOOK_OF_DERIVATIVES = _DATA / "derivatives.yaml"
_VERSION = re.compile(r"v?(\d+)\.(\d+)(?!\d)")


@cache
def _text(name: str) -> str:
    return (_DATA / name).read_text(encoding="ascii")


@cache
def bundled_releases() -> tuple[Release, ...]:
    """The releases whose facts are bundled, oldest first."""
    return releases_in(_text(GENERATORS)[:2000])


@lru_cache(maxsize=4096)
def release_number(version: str | None) -> Release | None:
    """The major and minor number of a PyTorch version such as ``2.13.0+cpu``; None for other text."""
    match = _VERSION.match(version or "")
    return None if match is None else (int(match[1]), int(match[2]))


@cache
def records_at(name: str, release: Release) -> Mapping[str, frozenset[str]]:
    """The names with each fact of a bundled file, at a bundled release."""
    return read_records(_text(name), release)


def entries_at(release: Release) -> frozenset[str]:
    """The full names of the operators with entries in a bundled release's derivatives.yaml."""
    return records_at(ENTRIES, release)[ENTRY]


class Book:
    """The facts about operators at one release.

    Attributes:
        release: the bundled release of the facts: the operators' own, or the nearest one.
        holds: whether the complex list applies: it is of the operators' release, of the default for an unknown release,
            of the newest for newer operators, or of their own generators. That of the oldest release does not apply to
            older ones, which had a shorter list or none.
        has_own_complex: whether their own generators have a complex list.
    """

    def __init__(self, version: str | None, own: Mapping[str, Sequence[str]] | None = None) -> None:
        """Create the book for a version.

        Args:
            version: the version of PyTorch, or None if unknown; other text counts as the newest.
            own: the lists of a checkout's generators, by topic, which replace the bundled ones.
        """
        releases = bundled_releases()
        number = DEFAULT_RELEASE if version is None else release_number(version) or releases[-1]
        self.release = next((release for release in reversed(releases) if release <= number), releases[0])
        self._own = {topic: frozenset(names) for topic, names in (own or {}).items()}
        self.has_own_complex = COMPLEX in self._own
        self.holds = self.has_own_complex or number >= releases[0]

    def names(self, topic: str) -> frozenset[str]:
        """The names with a fact of the generators, a topic of :mod:`derivlint.operators.topics`."""
        names = self._own.get(topic)
        return records_at(GENERATORS, self.release)[topic] if names is None else names

    @cached_property
    def complex(self) -> frozenset[str]:
        """The base names of operators whose gradients are implemented and tested for complex numbers.

        The generated kernel of any other operator rejects complex outputs that require grad. Some are listed with the
        underscore of in-place functions, which base names lack.
        """
        return self.names(COMPLEX)

    def is_complex_differentiable(self, function: NativeFunction) -> bool:
        """Whether the generated kernel allows complex outputs to require grad; follows ``get_base_name``."""
        return function.is_of_pytorch and function.name.base in self.complex

    def has_complex_gradients(self, function: NativeFunction) -> bool:
        """Whether a function has gradients of complex outputs.

        Kernels of in-place and foreach functions do not look at PyTorch's list, which has ``conj_physical_`` itself;
        ``_foreach_sin`` applies ``sin``.
        """
        names = {function.name.element_base, function.name.name_without_overload}
        return function.is_of_pytorch and not names.isdisjoint(self.complex)

    def takes_complex(self, function: NativeFunction) -> bool:
        """Whether a function is differentiated for complex inputs, regardless of its outputs."""
        is_real = function.is_of_pytorch and function.name.base in self.by_hand("real-valued")
        return is_real or self.has_complex_gradients(function)

    @cached_property
    def _without_derivative(self) -> frozenset[str]:
        return self.names("no-derivative")

    def is_declared_undifferentiable(self, function: NativeFunction) -> bool:
        """Whether PyTorch lists the function as having no differentiable outputs."""
        names = (function.name.base, function.cpp_name)
        return function.is_of_pytorch and not self._without_derivative.isdisjoint(names)

    @cached_property
    def _manual(self) -> frozenset[str]:
        return self.names("manual-autograd")

    def has_manual_kernel(self, function: NativeFunction) -> bool:
        """Whether the function's autograd kernel is hand-written in PyTorch."""
        return function.is_of_pytorch and function.cpp_name in self._manual

    @cached_property
    def _views(self) -> frozenset[str]:
        return self.names("view") | self.names("may-return-view")

    def is_called_like_view(self, function: NativeFunction) -> bool:
        """Whether a function has the base name of a view; true for in-place functions too.

        PyTorch's lists contain only its own operators; for others the schema decides.
        """
        return function.name.base in self._views if function.is_of_pytorch else function.is_view_op

    def is_view(self, function: NativeFunction) -> bool:
        """Whether the generated kernel makes the function's output a view; follows ``get_view_info``."""
        return self.is_called_like_view(function) and not function.name.inplace and not function.schema.is_out

    @cached_property
    def _without_generic_kernel(self) -> frozenset[str]:
        return self.names("other-impl-or-storage") | self.names("shared-impl") | self.names("shared-storage")

    def keeps_own_kernel(self, function: NativeFunction) -> bool:
        """Whether PyTorch generates a kernel for a function without entry that differs from the generic one.

        Such a kernel omits checks, or invalidates a gradient accumulator.
        """
        names = (function.cpp_name, function.cpp_name_with_overload)
        return function.is_of_pytorch and (
            self.resets_accumulator(function)
            or function.name.base in self._without_derivative
            or not self._without_generic_kernel.isdisjoint(names)
        )

    def resets_accumulator(self, function: NativeFunction) -> bool:
        """Whether a function replaces the storage of ``self``, which invalidates its gradient accumulator."""
        return function.is_of_pytorch and function.name.name_without_overload in self.names("resets-accumulator")

    def is_decomposed_for_tangents(self, function: NativeFunction) -> bool:
        """Whether forward-mode AD decomposes a function without forward formula.

        Follows torch/_decomp/decompositions_for_jvp.py; ``try_jit_decomposition`` in gen_variable_type.py.
        """
        return function.is_of_pytorch and str(function.name) in self.names(DECOMPOSED)

    def has_entry(self, function: NativeFunction) -> bool:
        """Whether PyTorch's derivatives.yaml has an entry for exactly this function."""
        return function.is_of_pytorch and str(function.name) in entries_at(self.release)

    @staticmethod
    def by_hand(topic: str) -> frozenset[str]:
        """The names with a hand-written fact; the topics are listed at the top of ``data/by_hand.txt``."""
        return records_at(BY_HAND, DEFAULT_RELEASE)[topic]


class _Index(Struct):
    declarations: dict[str, Any]


@cache
def assumed_parameters() -> Mapping[str, frozenset[tuple[str, ...]]]:
    """The parameter names of each helper's overloads in the release that facts about helpers assume."""
    # imported late: cached results need no schemas
    from derivlint.schema.index import available_versions, index_bytes

    version = next(
        version_name for version_name in available_versions() if release_number(version_name) == DEFAULT_RELEASE
    )
    functions = json.decode(index_bytes(version), type=_Index).declarations["functions"]
    return {
        name: frozenset(
            tuple(parameter.rpartition(" ")[2].removesuffix("=") for parameter in parameters)
            for _, parameters, *_ in overloads
        )
        for names in functions.values()
        for name, overloads in names.items()
    }


_of_version = cache(Book)
_known: WeakKeyDictionary[NativeFunctions, Book] = WeakKeyDictionary()


def book_of(natives: NativeFunctions) -> Book:
    """Return the facts about the operators of a PyTorch; memoized."""
    if natives.generator_lists is None:
        return _of_version(natives.version)
    book = _known.get(natives)
    if book is None:
        book = _known[natives] = Book(natives.version, natives.generator_lists)
    return book


def holds_for(natives: NativeFunctions) -> bool:
    """Whether the complex list applies to operators.

    The release may be that of the nearest file; a list of a later release does not apply if several operators added in
    PyTorch 1.12 to 2.1 are missing.
    """
    book = book_of(natives)
    if not book.holds or book.has_own_complex:
        return book.holds
    return sum(not natives.with_base(name) for name in Book.by_hand("came-by-2.1")) < 2
