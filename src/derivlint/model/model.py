"""The model of one derivatives file: what every later part of derivlint shares."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from derivlint.cpp.load import library_of
from derivlint.model.derivative import DifferentiabilityInfo
from derivlint.model.differentiable import Differentiability, has_generated_kernel
from derivlint.model.entry import DispatchBody, Entry
from derivlint.model.evaluation import Evaluation, evaluations
from derivlint.model.foreach import is_reference
from derivlint.model.info import build_info
from derivlint.model.layout import Layout, detected_layout
from derivlint.model.match import FunctionMatch, InfoByKey, Matcher, MatchProblem, view_copy_infos
from derivlint.model.read import DEFAULT, document_of, read_entries
from derivlint.model.resolve import EntryFunction, SchemaProblem, resolve_entry
from derivlint.model.typing import FormulaProblem, TypeChecker
from derivlint.model.versions import file_versions
from derivlint.operators import Book, book_of
from derivlint.schema import NativeFunction, NativeFunctions
from derivlint.source import SourceFile
from derivlint.source.lazy import cached_property
from derivlint.yaml_reader import Document, Node

T = TypeVar("T")
EntriesT = TypeVar("EntriesT", bound=tuple[Entry, ...])
#: The facts of a model that are kept and speak of all its entries together.
_OF_ALL_ENTRIES = ("entries_by_base", "entries_by_function")
#: As many schemas are not misspelt at once: the file is of another release.
MANY_UNKNOWN = 4


class Model:
    """Entries with their functions, infos and the functions they apply to.

    Building it never raises on user input: what could not be understood is an unresolved fact.

    Attributes:
        document: the YAML document.
        natives: the operators it is judged against.
        layout: how the file holds its entries.
        versions: the versions that the file serves, None for a file without versions.
        version: the one for which this is the model.
        all_entries: the items of the file, in order.
        entries: those of them that hold for the version.
        schema_problems: why an entry's schema resolves to no function, by the entry's index.
    """

    def __init__(
        self,
        document: Document,
        natives: NativeFunctions,
        layout: Layout | None = None,
        version: str | None = None,
    ) -> None:
        self.document = document
        self.natives = natives
        self.layout = layout if layout is not None else detected_layout(document.root)
        self.versions = file_versions(document.root, self.layout)
        self.version: str | None = None
        if self.versions is not None and self.versions.names:
            # a version that the file does not serve is not its business
            self.version = version if version in self.versions.names else self.versions.names[-1]
        self.all_entries: tuple[Entry, ...] = tuple(read_entries(document.root, self.layout))
        self.entries: tuple[Entry, ...] = self.all_entries
        if self.version is not None:
            self.entries = tuple(
                entry for entry in self.all_entries if entry.versions is None or self.version in entry.versions.names
            )
            # facts find an entry by its position
            for index, entry in enumerate(self.entries):
                entry.index = index
        self._begin()
        self._infos = self._resolved_infos()
        self.matcher = Matcher(self._infos, self.book)

    def _begin(self) -> None:
        """Keep nothing yet of what is worked out when it is asked for."""
        self.schema_problems: dict[int, SchemaProblem] = {}
        self._derived: dict[type, object] = {}
        self._matches: dict[str, FunctionMatch] = {}
        self._uses: dict[int, tuple[FunctionMatch, ...]] = {}
        self._by_dispatch_key: dict[int, dict[str, list[Differentiability]]] = {}
        self._type_problems: dict[int, tuple[FormulaProblem, ...]] = {}
        self._differentiabilities: dict[int, tuple[Differentiability, ...]] = {}
        self._evaluations: dict[int, tuple[Evaluation, ...]] = {}

    def _resolved_infos(self) -> dict[str, InfoByKey]:
        """Find the function of every entry, and build its infos; those of ``_copy`` twins come last."""
        infos: dict[str, InfoByKey] = {}
        counter: Counter[str] = Counter()
        for entry in self.entries:
            problem = resolve_entry(entry, self.natives)
            if problem is not None:
                self.schema_problems[entry.index] = problem
            if entry.function is None:
                continue
            by_key: InfoByKey = {}
            for body in entry.bodies:
                body.info = build_info(body, entry.function, counter)
                by_key[body.key] = body.info
            infos[str(entry.function.schema)] = by_key
        infos.update(view_copy_infos(infos, self.natives))
        return infos

    @contextmanager
    def narrowed(self, entries: EntriesT, left_out: Collection[Entry] = ()) -> Iterator[EntriesT]:
        """Have other entries for the time being: the same ones watched, or some of them left out.

        What is known of single entries stays. What is worked out meanwhile of a file without some of its entries is
        not kept.

        Args:
            entries: the entries, all of them.
            left_out: those that are left out.

        Yields:
            the entries that there are.
        """
        every, derived, kept = self.entries, self._derived, {}
        if left_out:
            without = {id(entry) for entry in left_out}
            entries = type(entries)(entry for entry in every if id(entry) not in without)
            self._derived = dict(derived)
            kept = {name: self.__dict__.pop(name) for name in _OF_ALL_ENTRIES if name in self.__dict__}
        self.entries = entries
        try:
            yield entries
        finally:
            self.entries = every
            if left_out:
                self._derived = derived
                for name in _OF_ALL_ENTRIES:
                    self.__dict__.pop(name, None)
                self.__dict__.update(kept)

    def once(self, kind: type[T], make: Callable[[], T]) -> T:
        """What floors above work out of the model, worked out at the first question and kept under its class."""
        found = self._derived.get(kind)
        if not isinstance(found, kind):
            found = self._derived[kind] = make()
        return found

    @property
    def source(self) -> SourceFile:
        """The file."""
        return self.document.source

    @property
    def n_entries(self) -> int:
        """The number of items in the file's list."""
        return len(self.all_entries)

    @cached_property
    def n_formulas(self) -> int:
        """The number of pairs of key and formula."""
        return sum(len(body.lines) for entry in self.all_entries for body in entry.bodies)

    @property
    def infos(self) -> Iterator[DifferentiabilityInfo]:
        """Every info, those of entries first, in torchgen's order."""
        for by_key in self._infos.values():
            yield from by_key.values()

    @property
    def used_dispatch_keys(self) -> list[str]:
        """The dispatch keys of the file, sorted."""
        keys = {body.key for entry in self.entries if entry.function is not None for body in entry.bodies}
        return sorted(keys)

    def bodies(self) -> Iterator[DispatchBody]:
        """The formulas of every entry and dispatch key."""
        for entry in self.entries:
            yield from entry.bodies

    def match(self, function: NativeFunction) -> FunctionMatch:
        """The differentiability of a native function."""
        key = str(function.schema)
        found = self._matches.get(key)
        if found is None:
            found = self._matches[key] = self.matcher.match(function)
        return found

    def functions_of(self, entry: Entry) -> tuple[FunctionMatch, ...]:
        """Every function that the entry applies to, the canonical one first.

        A function that the entry would apply to but cannot serve is among them, with its problems.
        """
        found = self._uses.get(entry.index)
        if found is None:
            found = self._uses[entry.index] = tuple(self._functions_of(entry))
        return found

    def _functions_of(self, entry: Entry) -> Iterator[FunctionMatch]:
        if entry.function is None:
            return
        canonical = entry.function.canonical
        base = canonical.name.base
        candidates = {str(canonical.schema): canonical}
        for function in (
            *self.natives.with_base(base),
            *self.natives.with_base(f"{base}_copy"),
            *self.natives.foreach_of(base),
        ):
            candidates.setdefault(str(function.schema), function)
        for function in candidates.values():
            match = self.match(function)
            sources = [info.source for info in match.infos.values()]
            sources.extend(problem.info.source for problem in match.problems)
            if any(source.index == entry.index for source in sources):
                yield match

    @property
    def book(self) -> Book:
        """What is known of the operators by their names, at their release."""
        return book_of(self.natives)

    def differentiabilities(self, entry: Entry) -> tuple[Differentiability, ...]:
        """What the kernel of each function does under each dispatch key of the entry, the canonical one first."""
        found = self._differentiabilities.get(entry.index)
        if found is None:
            found = self._differentiabilities[entry.index] = tuple(
                Differentiability(match, key) for match in self.functions_of(entry) for key in match.infos
            )
        return found

    def evaluations(self, entry: Entry) -> tuple[Evaluation, ...]:
        """Every expression that comes from an entry, with the variables that are declared where it stands."""
        found = self._evaluations.get(entry.index)
        if found is None:
            found = self._evaluations[entry.index] = tuple(evaluations(entry, self.differentiabilities(entry)))
        return found

    def canonical_differentiability(self, body: DispatchBody) -> Differentiability | None:
        """What the kernel of the entry's own function does with these formulas; None where they do not reach it."""
        function = body.entry.function
        if function is None:
            return None
        found = (item for item in self.differentiabilities_of(body) if item.function is function.canonical)
        return next(found, None)

    def differentiabilities_of(self, body: DispatchBody) -> Sequence[Differentiability]:
        """What the kernels of one dispatch key do with the formulas, of every function that they reach."""
        index = body.entry.index
        by_key = self._by_dispatch_key.get(index)
        if by_key is None:
            by_key = self._by_dispatch_key[index] = {}
            for item in self.differentiabilities(body.entry):
                by_key.setdefault(item.key, []).append(item)
        return by_key.get(body.key, ())

    @cached_property
    def is_pytorchs_own(self) -> bool:
        """Whether the file holds PyTorch's derivatives as a whole, not those of a back end or a part of them.

        The entry of nearly every operator with foreach functions is there.
        """
        return 2 * len(self.foreach_without_reference()) < len(self.natives.inplace_foreach)

    @cached_property
    def is_of_another_release(self) -> bool:
        """Whether the file belongs to another PyTorch than the operators it is judged against."""
        return len(self.schema_problems) >= MANY_UNKNOWN

    @cached_property
    def typing(self) -> TypeChecker:
        """What works out the types of formulas, with the declarations that hold for the file."""
        natives = self.natives
        if self.is_of_another_release and not natives.declarations_complete:
            # helpers change from release to release
            natives = natives.with_declarations(None, complete=False)
        library = library_of(natives)
        complete = natives.declarations_complete or self.is_pytorchs_own
        return TypeChecker(library, is_complete=complete and library.has_headers)

    def type_problems(self, entry: Entry) -> tuple[FormulaProblem, ...]:
        """What C++ would refuse in the entry's formulas, and in what PyTorch makes of them for other functions."""
        found = self._type_problems.get(entry.index)
        if found is None and not self.natives.has_symbolic_sizes:
            # the tables of C++ are those of a much later PyTorch
            found = self._type_problems[entry.index] = ()
        if found is None:
            found = self._type_problems[entry.index] = self.typing.problems(entry, self.evaluations(entry))
        return found

    def all_type_problems(self) -> Iterator[FormulaProblem]:
        """The same for every entry, in file order."""
        for entry in self.entries:
            yield from self.type_problems(entry)

    def match_problems(self, entry: Entry) -> Iterator[MatchProblem]:
        """Why functions cannot have the entry's infos."""
        for match in self.functions_of(entry):
            for problem in match.problems:
                if problem.info.source.index == entry.index:
                    yield problem

    def is_explained(self, node: Node) -> bool:
        """Whether a problem of the YAML speaks of this node, so that nothing more is to be said of its form."""
        problems = self.document.problems
        # they are sorted by where they begin
        first = bisect_left(problems, node.start, key=lambda problem: problem.span.start)
        for problem in islice(problems, first, None):
            if problem.span.start > node.end:
                break
            if problem.span.end <= node.end:
                return True
        if node.tag is None or not first:
            return False
        # a tag stands before its node, on the same line
        end = problems[first - 1].span.end
        return end <= node.start and not self.source.text[end : node.start].strip(" \t")

    @cached_property
    def entries_by_function(self) -> dict[str, tuple[Entry, ...]]:
        """The entries that speak of a function, by its schema, in file order; torchgen keeps the last of them."""
        return by_function(self.entries)

    @cached_property
    def entries_by_base(self) -> dict[str, tuple[Entry, ...]]:
        """The entries of all overloads of an operator, by its base name, in file order."""
        return by_base(self.entries)

    def served_without_default(self, entry: Entry) -> list[NativeFunction]:
        """Functions that the entry serves but whose generated code needs its ``Default`` formulas, which are missing.

        Foreach functions take the ``Default`` formulas of their reference (torchgen/api/autograd.py), and the kernel
        of a view asks for its ``Default`` outputs (gen_inplace_or_view_type.py).
        """
        if entry.function is None or any(body.key == DEFAULT for body in entry.bodies):
            return []
        signature = entry.function.schema.signature(strip_default=True)
        found = [
            function
            for function in self.natives.foreach_of(entry.function.canonical.name.base)
            if not self.match(function).infos and is_reference(function, signature)
        ]
        found.extend(
            match.function
            for match in self.functions_of(entry)
            if match.infos and self.book.is_view(match.function) and has_generated_kernel(match)
        )
        return found

    def foreach_without_reference(self) -> list[NativeFunction]:
        """In-place foreach functions to which no entry applies, and none would."""
        return [
            function
            for function in self.natives.inplace_foreach
            if not self.match(function).infos and not self.match(function).problems
        ]


def by_function(entries: Iterable[Entry]) -> dict[str, tuple[Entry, ...]]:
    """Entries by the schema of the function that they speak of, in order."""
    return _grouped(entries, lambda function: str(function.schema))


def by_base(entries: Iterable[Entry]) -> dict[str, tuple[Entry, ...]]:
    """Entries by the base name of their operator, in order."""
    return _grouped(entries, lambda function: function.canonical.name.base)


def _grouped(entries: Iterable[Entry], name_of: Callable[[EntryFunction], str]) -> dict[str, tuple[Entry, ...]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.function is not None:
            found.setdefault(name_of(entry.function), []).append(entry)
    return {name: tuple(group) for name, group in found.items()}


def build_model(
    source: SourceFile, natives: NativeFunctions, layout: Layout | None = None, version: str | None = None
) -> Model:
    """Read a derivatives file and build its model; never raises on what the file holds.

    Args:
        source: the file.
        natives: the operators it is judged against.
        layout: how it holds its entries; by default what it looks like.
        version: of a file that serves several versions the one to build the model for; by default the newest.
    """
    return Model(document_of(source), natives, layout, version)


def build_models(
    source: SourceFile, natives: NativeFunctions, layout: Layout | None = None, version: str | None = None
) -> tuple[Model, ...]:
    """The models of a file for every version that it serves, one for all versions with the same entries.

    The newest comes first; a file without versions has one model, and so has one of which a version is wanted.
    """
    document = document_of(source)
    first = Model(document, natives, layout, version)
    if first.versions is None or (version is not None and version in first.versions.names):
        return (first,)
    found = {frozenset(entry.node.start for entry in first.entries): first}
    for version in reversed(first.versions.names):
        holds = frozenset(
            entry.node.start for entry in first.all_entries if entry.versions is None or version in entry.versions.names
        )
        if holds not in found:
            found[holds] = Model(document, natives, layout, version)
    return tuple(found.values())
