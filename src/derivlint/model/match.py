"""Which info applies to which native function.

Follows torchgen/api/autograd.py, ``match_differentiability_info``, and load_derivatives.py,
``add_view_copy_derivatives``: one entry serves the function it names, its in-place and out variants, the ``_copy`` twin
of a view, the generated functional variant of a mutable function and the foreach functions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from derivlint.model.entry import DifferentiabilityInfo, Entry, ForwardDerivative, InfoSource
from derivlint.model.generated.foreach import WITH_INPLACE_REFERENCE, ForeachProblem, foreach_info, is_reference
from derivlint.model.generated.inplace import InplaceProblem, inplace_forwards
from derivlint.model.index import BY_BASE, BY_SCHEMA, EntryIndex
from derivlint.model.match_problem import MatchProblemKind
from derivlint.model.read import DEFAULT
from derivlint.operators import Book
from derivlint.schema import FunctionSchema, NativeFunction, NativeFunctions, SchemaKind

T = TypeVar("T")
V = TypeVar("V")
#: What the names of the ``_copy`` twins of views end with.
COPY = "_copy"
#: The infos of one function by dispatch key.
InfoByKey = dict[str, DifferentiabilityInfo]


class How(Enum):
    """How a function came by its info."""

    EXACT = "exact"
    SIGNATURE = "signature"
    GENERATED_FUNCTIONAL = "generated_functional"
    FOREACH_GENERATED = "foreach_generated"
    FOREACH_INPLACE = "foreach_inplace"


class MatchProblem(Struct, frozen=True):
    """Why a function cannot have the info that would apply to it.

    Attributes:
        kind: why.
        function: the function.
        info: the info that would apply.
        detail: the problem that was found deeper down.
        is_of_part: whether PyTorch gives the function an entry of its own, so that a file without it is a part of one.
    """

    kind: MatchProblemKind
    function: NativeFunction
    info: DifferentiabilityInfo
    detail: InplaceProblem | ForeachProblem | None = None
    is_of_part: bool = False


class FunctionMatch(Struct):
    """A native function with the differentiability that applies to it.

    Attributes:
        function: the function.
        infos: the info for each dispatch key; empty where no entry applies.
        how: how it came by them.
        forwards: the forward formulas for each dispatch key, None where no entry applies.
        book: what is known of the operators.
        problems: why it cannot have what would apply.
    """

    function: NativeFunction
    infos: InfoByKey
    how: How | None
    forwards: dict[str, tuple[ForwardDerivative, ...]] | None
    book: Book
    problems: tuple[MatchProblem, ...] = ()


class InfoSubject(Struct, frozen=True):
    """What there are infos of: a schema that an entry has, or that of the ``_copy`` twin of a view with an entry.

    Attributes:
        function: the function that they are for.
        has_infos: whether the entry has any formulas.
        twin_of: the schema of the view.
    """

    function: NativeFunction
    has_infos: bool
    twin_of: str | None = None


def infos_of(entry: Entry) -> dict[str, InfoByKey]:
    """The infos of an entry by its schema."""
    if entry.function is None:
        return {}
    return {str(entry.function.schema): {body.key: body.info for body in entry.bodies if body.info is not None}}


def twins_of(infos: Mapping[str, InfoByKey], natives: NativeFunctions) -> dict[str, InfoByKey]:
    """The infos of the ``_copy`` twins of views, by schema; an entry written for the twin wins."""
    found = {}
    for by_key in infos.values():
        twin = _view_copy(next(iter(by_key.values())).func, natives) if by_key else None
        if twin is not None and str(twin.schema) not in infos:
            found[str(twin.schema)] = _of_twin(by_key, twin)
    return found


def _view_copy(function: NativeFunction, natives: NativeFunctions) -> NativeFunction | None:
    """The ``_copy`` twin of a view; None for another function."""
    group = natives.view_group(function)
    return group.view_copy if group is not None and group.view.name == function.name else None


def _of_twin(infos: InfoByKey, twin: NativeFunction) -> InfoByKey:
    twins = {}
    for key, info in infos.items():
        base, _, rest = info.name.partition(".")
        source = InfoSource("view_copy", info.source.index)
        twins[key] = replace(info, name=f"{base}_copy.{rest}", func=twin, source=source, made_of=info)
    return twins


class Infos(Protocol):
    """Where infos are looked up."""

    @property
    def shares_foreach(self) -> bool:
        """Whether foreach operators share the formulas of the operators that they apply to each tensor."""
        ...

    @property
    def book(self) -> Book:
        """What is known of the operators."""
        ...

    def ask(self, find: Callable[..., T], *subject: Hashable) -> T:
        """What a function answers, see :class:`~derivlint.model.query.Answers`."""
        ...

    @property
    def natives(self) -> NativeFunctions:
        """The operators."""
        ...

    def values_in(self, index: EntryIndex[V], key: str) -> list[V]:
        """The values that an index has under a key, in file order."""
        ...

    def functions_in(self, index: EntryIndex[Any], key: str) -> tuple[NativeFunction, ...]:
        """The functions of the entries under a key, in file order, where the values tell these."""
        ...

    def entries_in(self, index: EntryIndex[Any], key: str) -> tuple[Entry, ...]:
        """The entries that an index has under a key, in file order."""
        ...


def _written(infos: Infos, base: str) -> Mapping[str, InfoSubject]:
    """What there are infos of with a base name, by schema, in the order of the file; twins of views come last."""
    values, functions = infos.values_in(BY_BASE, base), infos.functions_in(BY_BASE, base)
    found = {
        schema: InfoSubject(function, has_infos)
        for (schema, _, has_infos), function in zip(values, functions, strict=True)
    }
    view = base.removesuffix(COPY)
    if view != base:
        twins = {}
        for schema, each in infos.ask(_written, infos, view).items():  # type: ignore[arg-type]
            twin = _view_copy(each.function, infos.natives) if each.has_infos else None
            if twin is not None:
                twins[str(twin.schema)] = InfoSubject(twin, True, schema)
        found |= {schema: twin for schema, twin in twins.items() if schema not in found}
    return found


def _infos_for(infos: Infos, base: str, schema: str) -> InfoByKey:
    """The infos of one schema; of several entries for it the last counts, as for torchgen."""
    written = infos.ask(_written, infos, base)[schema]  # type: ignore[arg-type]
    if written.twin_of is not None:
        return _of_twin(_infos_for(infos, base.removesuffix(COPY), written.twin_of), written.function)
    (*_, last) = infos.entries_in(BY_SCHEMA, schema)
    return infos_of(last)[schema]


#: By signatures without defaults: the signature, and the schema of the entry.
_BySignature = dict[str, tuple[FunctionSchema, str]]


def _by_signature(infos: Infos, base: str, functional: bool) -> _BySignature:
    """The functions with infos and a base name by their signatures without defaults, of equal ones the last."""
    found = {}
    for written, each in infos.ask(_written, infos, base).items():  # type: ignore[arg-type]
        schema = each.function.schema
        if each.has_infos and (schema.kind is SchemaKind.functional) is functional:
            found[schema.signature_key_no_defaults] = (schema.signature(strip_default=True), written)
    return found


class Applicable(NamedTuple):
    """What a function may have its infos of.

    Attributes:
        how: how it comes by them.
        base: the base name of the function that has an entry.
        schema: the schema that the entry has.
        signature: the signature of that function.
    """

    how: How
    base: str
    schema: str
    signature: FunctionSchema


class Matcher:
    """Finds the info of any native function."""

    def __init__(self, infos: Infos) -> None:
        self._infos = infos
        self._book = infos.book

    def _written(self, base: str) -> Mapping[str, InfoSubject]:
        return self._infos.ask(_written, self._infos, base)  # type: ignore[arg-type]

    def _by_signature(self, base: str, *, functional: bool) -> _BySignature:
        return self._infos.ask(_by_signature, self._infos, base, functional)  # type: ignore[arg-type]

    def match(self, function: NativeFunction) -> FunctionMatch:
        """The differentiability of one function."""
        problems: list[MatchProblem] = []
        infos, how = self._find(function, problems)
        if not infos:
            return FunctionMatch(function, {}, None, None, self._book, tuple(problems))
        forwards = {}
        is_inplace = function.schema.kind is SchemaKind.inplace
        for key, info in infos.items():
            if not is_inplace:
                forwards[key] = info.forward_derivatives
                continue
            problems.extend(
                self._problem(MatchProblemKind.STRIDES_OF_SELF, function, info)
                for derivative in info.derivatives
                if "self" in derivative.var_names and derivative.saves_strides
            )
            own = how is How.EXACT
            forwards[key], found = inplace_forwards(info, own_entry=own)
            problems.extend(self._problem(problem.kind, function, info, problem) for problem in found)
        return FunctionMatch(function, infos, how, forwards, self._book, tuple(problems))

    def _problem(
        self,
        kind: MatchProblemKind,
        function: NativeFunction,
        info: DifferentiabilityInfo,
        detail: InplaceProblem | ForeachProblem | None = None,
    ) -> MatchProblem:
        return MatchProblem(kind, function, info, detail, is_of_part=self._book.has_entry(function))

    def source(self, function: NativeFunction) -> str | None:
        """The schema of the entry that a function may have its infos of; None where no entry applies."""
        found = self._applicable_once(function)
        return None if found is None else self._written(found.base)[found.schema].twin_of or found.schema

    def _applicable_once(self, function: NativeFunction) -> Applicable | None:
        return self._infos.ask(self._applicable, function)

    def _applicable(self, function: NativeFunction) -> Applicable | None:
        schema = function.schema
        if function.generated and schema.kind is SchemaKind.out:
            return None
        base = function.name.base
        if str(schema) in self._written(base):
            return Applicable(How.EXACT, base, str(schema), schema)
        signature = schema.signature_key_no_defaults
        foreach = function.name.is_foreach
        if not foreach:
            by_signature = self._by_signature(base, functional=True).get(signature)
            if by_signature is not None:
                return Applicable(How.SIGNATURE, base, by_signature[1], by_signature[0])
        other = self._by_signature(base, functional=False).get(signature) if function.generated else None
        if other is not None:
            return Applicable(How.GENERATED_FUNCTIONAL, base, other[1], other[0])
        return self._reference(function) if foreach and self._infos.shares_foreach else None

    def _reference(self, function: NativeFunction) -> Applicable | None:
        """The function that a foreach function applies to every element."""
        is_inplace = function.schema.kind is SchemaKind.inplace
        how = How.FOREACH_INPLACE if is_inplace else How.FOREACH_GENERATED
        base = function.name.element_base
        for functional in (True, False) if is_inplace and str(function.name) in WITH_INPLACE_REFERENCE else (True,):
            for signature, schema in self._by_signature(base, functional=functional).values():
                if is_reference(function, signature):
                    return Applicable(how, base, schema, signature)
        return None

    def _find(self, function: NativeFunction, problems: list[MatchProblem]) -> tuple[InfoByKey, How | None]:
        found = self._applicable_once(function)
        if found is None:
            return {}, None
        # asked once, so that the infos of a twin are the same objects for all of its functions
        infos = self._infos.ask(_infos_for, self._infos, found.base, found.schema)  # type: ignore[arg-type]
        if found.how is How.GENERATED_FUNCTIONAL:
            for info in infos.values():
                if any("self" in saved.name for saved in info.all_saved_inputs):
                    problems.append(self._problem(MatchProblemKind.FUNCTIONAL_NEEDS_SELF, function, info))
                    return {}, None
        if found.how in (How.FOREACH_INPLACE, How.FOREACH_GENERATED):
            return self._of_reference(function, infos, found.signature, problems)
        return infos, found.how

    def _of_reference(
        self, function: NativeFunction, infos: InfoByKey, schema: FunctionSchema, problems: list[MatchProblem]
    ) -> tuple[InfoByKey, How | None]:
        info = infos.get(DEFAULT)
        if info is None:
            any_info = next(iter(infos.values()))
            problems.append(self._problem(MatchProblemKind.NO_DEFAULT_KEY, function, any_info))
            return {}, None
        if function.schema.kind is SchemaKind.inplace:
            return {DEFAULT: info}, How.FOREACH_INPLACE
        made, found_problems = foreach_info(function, info, schema)
        problems.extend(self._problem(problem.kind, function, info, problem) for problem in found_problems)
        if made is None:
            return {}, None
        return {DEFAULT: made}, How.FOREACH_GENERATED
