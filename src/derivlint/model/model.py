"""The model of a derivatives file."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from collections.abc import Sequence as Seq
from itertools import count, islice

from derivlint.cpp.library import library_of
from derivlint.model.differentiable import Differentiability, has_generated_kernel
from derivlint.model.entry import DifferentiabilityInfo, DispatchBody, Entry
from derivlint.model.generated.evaluation import Evaluation, evaluations
from derivlint.model.generated.foreach import is_reference
from derivlint.model.generated.typing import FormulaProblem, TypeChecker
from derivlint.model.index import (
    BY_BASE,
    BY_NODE,
    BY_SCHEMA,
    FOREACH,
    FORMULAS,
    OUTDATED,
    UNRESOLVED,
)
from derivlint.model.info import build_info
from derivlint.model.keys import DEFAULT
from derivlint.model.layout import PLAIN, Layout, marked_layout, name_of_layout
from derivlint.model.match import COPY, FunctionMatch, InfoByKey, Matcher, MatchProblem, infos_of, twins_of
from derivlint.model.memos import Dependency, Memos
from derivlint.model.query import Answers, file_fact, query
from derivlint.model.read import ListEntries, document_of, items_of, layout_of, read_syntax, split_document, versions_of
from derivlint.operators import book_of
from derivlint.schema import NativeFunction, NativeFunctions
from derivlint.source import SourceFile
from derivlint.yaml_reader import Document, Sequence, YamlNode, read_yaml
from derivlint.yaml_reader.split import SplitDocument

#: The number of unresolved schemas from which they are not typos: the file belongs to another release.
MANY_UNKNOWN = 4
#: The minimum number of entries for detecting an old file; shorter files may have as many mistakes.
COMPLETE = 50
#: The minimum share of differing schemas in an old file; 2.1 and 2.13 differ in 5%, 1.11 and 2.13 in 26%.
OUTDATED_SHARE = 0.15


class Model(Answers):
    """The entries of a file with their functions, infos and derived facts.

    Construction never raises on user input. Reads of other entries (:meth:`entries_in`, :meth:`values_in`) and of facts
    of the file (:meth:`fact`) are recorded as dependencies.

    Attributes:
        document: the YAML document.
        natives: the operators; of ``version`` if the file has several.
        book: the operator book for their release.
        layout: the layout of the file.
        versions: the versions of the file, or None.
        version: the version of this model.
        all_entries: the items of the file, in order.
        entries: the items that apply to ``version``; the index of an entry is its position here.
        matcher: finds the infos of functions.
    """

    def __init__(
        self,
        document: Document,
        natives: NativeFunctions,
        layout: Layout | None = None,
        version: str | None = None,
        *,
        memos: Memos | None = None,
    ) -> None:
        super().__init__(memos if isinstance(document, SplitDocument) else None)
        self.document = document
        self.layout = layout_of(document, layout or PLAIN)
        if natives.are_of_framework:
            self.layout = self.layout.of_framework()
        self.versions = versions_of(document, self.layout)
        self.version: str | None = None
        if self.versions is not None and self.versions.names:
            self.version = version if version in self.versions.names else self.versions.names[-1]
        self.natives = natives if self.version is None else natives.of_version(self.version)
        self.book = book_of(self.natives)
        self.matcher = Matcher(self)
        self.all_entries: Seq[Entry] = ()
        self._read()
        self._keys = self._positions = range(len(self.entries))
        if self.memos is not None and isinstance(document, SplitDocument):
            self._carry_over(self.memos, document.texts)

    def _read(self) -> None:
        """Read the entries; those of other versions come last."""
        if isinstance(self.document, SplitDocument):
            self.all_entries = self.entries = ListEntries(self.document, self)
            return
        items = items_of(self.document, self.layout)
        read = [(item, read_syntax(item.node, self.layout, self.versions)) for item in items]
        versions = [syntax.versions for _, syntax in read]
        holds = [served is None or self.version in (None, *served.names) for served in versions]
        inside, outside = count(), count(sum(holds))
        self.all_entries = tuple(
            Entry(next(inside if is_inside else outside), item, syntax, self)
            for (item, syntax), is_inside in zip(read, holds, strict=True)
        )
        self.entries = self.all_entries
        if not all(holds):
            self.entries = tuple(entry for entry, is_inside in zip(self.all_entries, holds, strict=True) if is_inside)

    # ---- the file as a whole

    @property
    def source(self) -> SourceFile:
        """The file."""
        return self.document.source

    @property
    def has_list(self) -> bool:
        """Whether the layout's entry key holds a list."""
        document = self.document
        return isinstance(document, SplitDocument) or isinstance(self.layout.list_in(document.root), Sequence)

    @property
    def n_entries(self) -> int:
        """The number of items in the list."""
        return len(self.all_entries)

    @property
    def n_formulas(self) -> int:
        """The number of formulas."""
        if self.entries is not self.all_entries:
            return sum(len(body.formulas) for entry in self.all_entries for body in entry.bodies)
        return sum(self.values_in(FORMULAS, ""))

    @property
    def infos(self) -> Iterator[DifferentiabilityInfo]:
        """All infos, those of entries first, in torchgen's order."""
        by_schema: dict[str, InfoByKey] = {}
        for entry in self.entries:
            by_schema.update(infos_of(entry))
        for by_key in (*by_schema.values(), *twins_of(by_schema, self.natives).values()):
            yield from by_key.values()

    def info_of(self, body: DispatchBody) -> DifferentiabilityInfo | None:
        """The ``DifferentiabilityInfo`` for the formulas of one dispatch key."""
        function = body.entry.function
        return build_info(body, function) if function is not None else None

    def node_name(self, info: DifferentiabilityInfo) -> str | None:
        """The numbered name of the generated autograd node, or None if nothing is differentiable."""
        if info.prefix is None:
            return None
        if info.made_of is not None:
            name = self.node_name(info.made_of)
            if info.source.kind == "foreach":
                return f"{info.prefix}{name}{info.func.name.overload}"
            return f"{name}_copy" if name is not None else None
        self.record(Dependency(BY_NODE.name, info.prefix, True))
        own = info.source.index or 0
        before = {key for key, _ in self.indexed(BY_NODE).under(info.prefix) if self._positions[key] < own}
        return f"{info.prefix}{len(before)}"

    @property
    def used_dispatch_keys(self) -> list[str]:
        """The dispatch keys of the file, sorted."""
        keys = {body.key for entry in self.entries if entry.function is not None for body in entry.bodies}
        return sorted(keys)

    def bodies(self) -> Iterator[DispatchBody]:
        """The bodies of all entries, one for each dispatch key."""
        for entry in self.entries:
            yield from entry.bodies

    def match(self, function: NativeFunction) -> FunctionMatch:
        """The differentiability of a native function."""
        return self.ask(self.matcher.match, function)

    @query
    def functions_of(self, entry: Entry) -> tuple[FunctionMatch, ...]:
        """The functions to which an entry applies, or would but for problems; the canonical one comes first."""
        if entry.function is None:
            return ()
        canonical = entry.function.canonical
        base = canonical.name.base
        candidates = {canonical.key: canonical}
        natives = self.natives
        for function in (*natives.with_base(base), *natives.with_base(f"{base}{COPY}"), *natives.foreach_of(base)):
            candidates.setdefault(function.key, function)
        matches = []
        for function in candidates.values():
            # also functions with other overload names
            if not self.matcher.may_serve(canonical, function) or self.matcher.source(function) != canonical.key:
                continue
            match = self.match(function)
            sources = [info.source for info in match.infos.values()]
            sources.extend(problem.info.source for problem in match.problems)
            if any(source.index == entry.index for source in sources):
                matches.append(match)
        return tuple(matches)

    @query
    def differentiabilities(self, entry: Entry) -> tuple[Differentiability, ...]:
        """The differentiability of each function under each dispatch key of the entry, the canonical one first."""
        return tuple(Differentiability(match, key) for match in self.functions_of(entry) for key in match.infos)

    @query
    def evaluations(self, entry: Entry) -> tuple[Evaluation, ...]:
        """The expressions in generated code that come from an entry, with their variables."""
        return tuple(evaluations(entry, self.differentiabilities(entry)))

    def canonical_differentiability(self, body: DispatchBody) -> Differentiability | None:
        """The differentiability of the entry's own function with these formulas, or None if they do not apply to it."""
        function = body.entry.function
        if function is None:
            return None
        candidates = (item for item in self.differentiabilities_of(body) if item.function is function.canonical)
        return next(candidates, None)

    def differentiabilities_of(self, body: DispatchBody) -> tuple[Differentiability, ...]:
        """The differentiability of each function to which these formulas apply."""
        return self._by_dispatch_key(body.entry).get(body.key, ())

    @query
    def _by_dispatch_key(self, entry: Entry) -> dict[str, tuple[Differentiability, ...]]:
        by_key: dict[str, list[Differentiability]] = {}
        for item in self.differentiabilities(entry):
            by_key.setdefault(item.key, []).append(item)
        return {key: tuple(items) for key, items in by_key.items()}

    @property
    def is_pytorchs_own(self) -> bool:
        """Whether the file is PyTorch's complete derivatives.yaml rather than a back end's or a part of it.

        True if nearly all operators with foreach functions have entries.
        """
        return self.fact(_is_pytorchs_own)

    @property
    def shares_foreach(self) -> bool:
        """Whether foreach operators use the formulas of the operators that they apply to each tensor.

        They do from 2.1 on; earlier files have no foreach entries.
        """
        return self.layout.foreach and self.fact(_shares_foreach)

    @property
    def is_of_another_release(self) -> bool:
        """Whether the file belongs to another PyTorch release than the operators."""
        return self.fact(_is_of_another_release)

    @property
    def is_of_unsupported_release(self) -> bool:
        """Whether the file's PyTorch is older than the operators support, so that formulas cannot be checked."""
        return not self.natives.are_of_framework and self.fact(_is_of_unsupported_release)

    @property
    @query
    def typing(self) -> TypeChecker:
        """The type checker, with the declarations that apply to the file."""
        natives = self.natives
        is_own = natives.in_checkout or self.is_pytorchs_own
        complete = natives.declarations_complete or (is_own and not self.layout.declares)
        library = library_of(natives)
        # declarations hidden by an unmatched bracket do exist
        complete = complete and library.has_headers and not any(problem.hides for problem in natives.header_problems)
        if natives.declarations_complete or natives.in_checkout:
            return TypeChecker(library, is_complete=complete)
        return TypeChecker(library, is_complete=complete, fallback=self._without_headers)

    def _without_headers(self) -> TypeChecker | None:
        """The type checker without headers, for a file of another release: helpers change between releases."""
        return self._headerless if self.is_of_another_release else None

    @property
    @query
    def _headerless(self) -> TypeChecker:
        return TypeChecker(library_of(self.natives, has_headers=False), is_complete=False)

    @property
    def unknown_functions(self) -> frozenset[str]:
        """The called functions without a known declaration, whose calls are not checked."""
        if not self.layout.cpp or not self.natives.has_symbolic_sizes or self.is_of_unsupported_release:
            return frozenset()
        return self.typing.unknown_functions(self.entries)

    @query
    def type_problems(self, entry: Entry) -> tuple[FormulaProblem, ...]:
        """The C++ errors in the entry's formulas and in the rewrites for other functions."""
        if not self.layout.cpp or not self.natives.has_symbolic_sizes:
            # the C++ tables are for a much later PyTorch
            return ()
        problems = self.typing.problems(entry, self.evaluations(entry))
        if problems and entry.name is not None and self.natives.by_schema(entry.name.value) is None:
            # the expansion of "auto_linear" by another project's generator is unknown
            problems = tuple(problem for problem in problems if problem.written.auto is None)
        return problems

    def match_problems(self, entry: Entry) -> Iterator[MatchProblem]:
        """The reasons why functions cannot use the entry's infos."""
        for match in self.functions_of(entry):
            for problem in match.problems:
                if problem.info.source.index == entry.index:
                    yield problem

    def is_explained(self, entry: Entry, node: YamlNode) -> bool:
        """Whether the YAML reader reported a problem at a node, so that its form is not checked."""
        problems = self.document.problems
        start, stop = entry.place(node)
        # problems are sorted by start
        first = bisect_left(problems, start, key=lambda problem: problem.span.start)
        for problem in islice(problems, first, None):
            if problem.span.start > stop:
                break
            if problem.span.end <= stop:
                return True
        if node.tag is None or not first:
            return False
        # a tag precedes its node on the same line
        end = problems[first - 1].span.end
        return end <= start and not self.source.text[end:start].strip(" \t")

    @query
    def entries_for(self, function: NativeFunction) -> tuple[Entry, ...]:
        """The entries for a function, in file order; torchgen uses the last one."""
        candidates = self.entries_in(BY_SCHEMA, function.key)
        return tuple(
            entry for entry in candidates if entry.function is not None and entry.function.canonical is function
        )

    def served_without_default(self, entry: Entry) -> list[NativeFunction]:
        """The functions of the entry whose generated code needs missing ``Default`` formulas.

        Foreach functions use the ``Default`` formulas of their reference (torchgen/api/autograd.py), the kernel of a
        view the ``Default`` outputs (gen_inplace_or_view_type.py).
        """
        if entry.function is None or any(body.key == DEFAULT for body in entry.bodies):
            return []
        signature = entry.function.schema.signature(strip_default=True)
        served = [
            function
            for function in self.natives.foreach_of(entry.function.canonical.name.base)
            if self.shares_foreach and not self.match(function).infos and is_reference(function, signature)
        ]
        served.extend(
            match.function
            for match in self.functions_of(entry)
            if match.infos and self.book.is_view(match.function) and has_generated_kernel(match)
        )
        return served

    def foreach_without_reference(self) -> list[NativeFunction]:
        """The in-place foreach functions to which no entry applies or could apply."""
        if not self.shares_foreach:
            return []
        missing = self.fact(_without_reference)
        return (
            [function for function in self.natives.inplace_foreach if str(function.name) in missing] if missing else []
        )


@file_fact
def _is_of_another_release(model: Model, _: str) -> bool:
    return len(model.values_in(UNRESOLVED, "")) >= MANY_UNKNOWN


@file_fact
def _is_of_unsupported_release(model: Model, _: str) -> bool:
    n_entries = len(model.values_in(FORMULAS, ""))
    return n_entries >= COMPLETE and len(model.values_in(OUTDATED, "")) >= n_entries * OUTDATED_SHARE


@file_fact
def _is_pytorchs_own(model: Model, _: str) -> bool:
    bases = [function.name.element_base for function in model.natives.inplace_foreach]
    return 2 * sum(not model.values_in(BY_BASE, base) for base in bases) < len(bases)


@file_fact
def _shares_foreach(model: Model, _: str) -> bool:
    return bool(model.values_in(FOREACH, "")) or not model.is_pytorchs_own


@file_fact
def _without_reference(model: Model, _: str) -> tuple[str, ...]:
    """The in-place foreach functions to which no entry applies or could apply."""
    return tuple(name for name in model.natives.inplace_foreach_names if not model.fact(_has_reference, name))


@file_fact
def _has_reference(model: Model, name: str) -> bool:
    """Whether an entry applies or could apply to a foreach function."""
    function = model.natives.operator(name)
    if function is None:
        return False
    match = model.match(function)
    return bool(match.infos or match.problems)


def build_model(
    source: SourceFile, natives: NativeFunctions, layout: Layout | None = None, version: str | None = None
) -> Model:
    """Read a derivatives file and build its model; never raises on the file's content.

    Args:
        source: the file.
        natives: the operators.
        layout: its layout, by default detected.
        version: for a file with several versions, the one to model; by default the newest.
    """
    return Model(document_of(source), natives, layout, version)


class NarrowModel(Model):
    """A model whose formulas apply only to the entries' own operators, for candidate texts."""

    @query
    def functions_of(self, entry: Entry) -> tuple[FunctionMatch, ...]:
        """The entry's own operator."""
        return (self.match(entry.function.canonical),) if entry.function is not None else ()


def probe_model(text: str, like: Model, *, narrow: bool = False) -> Model:
    """Build the model of a few entries outside the file, with the operators of another model.

    Args:
        text: the entries.
        like: the other model.
        narrow: whether formulas apply only to the entries' own operators.
    """
    source = SourceFile("", text)
    # document_of would replace the file in its cache
    return (NarrowModel if narrow else Model)(split_document(source) or read_yaml(source), like.natives)


def build_models(
    source: SourceFile,
    natives: NativeFunctions,
    layout: Layout | None = None,
    version: str | None = None,
    *,
    memos: Memos | None = None,
) -> tuple[Model, ...]:
    """Build the models of a file for all its versions; versions with the same entries share one.

    The newest comes first. A file without versions, or one with a requested version, has one model.

    Args:
        source: the file.
        natives: the operators.
        layout: its layout, by default detected.
        version: the requested version.
        memos: the memos of earlier texts with the same operators and layout.
    """
    document: Document
    if memos is not None:
        memos.begin(name_of_layout(marked_layout(source)))
        document = split_document(source, memos.has_text) or document_of(source)
    else:
        document = document_of(source)
    first = Model(document, natives, layout, version, memos=memos)
    if first.versions is None or (version is not None and version in first.versions.names):
        return (first,)
    models = {frozenset(entry.span.start for entry in first.entries): first}
    for version in reversed(first.versions.names):
        holds = frozenset(
            entry.span.start for entry in first.all_entries if entry.versions is None or version in entry.versions.names
        )
        if holds not in models:
            models[holds] = Model(document, natives, layout, version)
    return tuple(models.values())
