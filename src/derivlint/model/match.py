"""Which info applies to which native function.

Follows torchgen/api/autograd.py, ``match_differentiability_info``, and load_derivatives.py,
``add_view_copy_derivatives``: one entry serves the function it names, its in-place and out variants, the ``_copy`` twin
of a view, the generated functional variant of a mutable function and the foreach functions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from typing import Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from derivlint.model.entry import DifferentiabilityInfo, ForwardDerivative, InfoSource
from derivlint.model.generated.foreach import WITH_INPLACE_REFERENCE, ForeachProblem, foreach_info, is_reference
from derivlint.model.generated.inplace import InplaceProblem, inplace_forwards
from derivlint.model.match_problem import MatchProblemKind
from derivlint.model.read import DEFAULT
from derivlint.operators import Book
from derivlint.schema import FunctionSchema, NativeFunction, NativeFunctions, SchemaKind

T = TypeVar("T")
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


def view_copy_infos(infos: Mapping[str, InfoByKey], natives: NativeFunctions) -> dict[str, InfoByKey]:
    """The infos of the ``_copy`` twins of views, by schema; an entry written for the twin wins."""
    copies: dict[str, InfoByKey] = {}
    for by_key in infos.values():
        twins: InfoByKey = {}
        schema = None
        for key, info in by_key.items():
            group = natives.view_group(info.func)
            if group is None or group.view.name != info.func.name or group.view_copy is None:
                break
            schema = str(group.view_copy.schema)
            base, _, rest = info.name.partition(".")
            twins[key] = replace(
                info,
                name=f"{base}_copy.{rest}",
                func=group.view_copy,
                source=InfoSource("view_copy", info.source.index),
                made_of=info,
            )
        if schema is not None and schema not in infos:
            copies[schema] = twins
    return copies


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

    def infos_of(self, base: str) -> Mapping[str, InfoByKey]:
        """The infos of all functions with a base name, by schema, in the order of the file."""
        ...


_BySignature = dict[str, tuple[FunctionSchema, InfoByKey]]


def _by_signature(infos: Infos, base: str, functional: bool) -> _BySignature:
    """The infos of the functions with a base name by their signatures without defaults, of equal ones the last."""
    found = {}
    for by_key in infos.infos_of(base).values():
        if by_key:
            schema = next(iter(by_key.values())).func.schema
            if (schema.kind is SchemaKind.functional) is functional:
                found[schema.signature_key_no_defaults] = (schema.signature(strip_default=True), by_key)
    return found


class Matcher:
    """Finds the info of any native function."""

    def __init__(self, infos: Infos) -> None:
        self._infos = infos
        self._book = infos.book

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

    def _find(self, function: NativeFunction, problems: list[MatchProblem]) -> tuple[InfoByKey, How | None]:
        schema = function.schema
        if function.generated and schema.kind is SchemaKind.out:
            return {}, None
        base = function.name.base
        exact = self._infos.infos_of(base).get(str(schema))
        if exact is not None:
            return exact, How.EXACT
        signature = schema.signature_key_no_defaults
        foreach = function.name.is_foreach
        if not foreach:
            by_signature = self._by_signature(base, functional=True).get(signature)
            if by_signature is not None:
                return by_signature[1], How.SIGNATURE
        other = self._by_signature(base, functional=False).get(signature) if function.generated else None
        if other is not None:
            for info in other[1].values():
                if any("self" in saved.name for saved in info.all_saved_inputs):
                    problems.append(self._problem(MatchProblemKind.FUNCTIONAL_NEEDS_SELF, function, info))
                    return {}, None
            return other[1], How.GENERATED_FUNCTIONAL
        if foreach and self._infos.shares_foreach:
            return self._find_foreach(function, problems)
        return {}, None

    def reference(self, function: NativeFunction) -> tuple[FunctionSchema, InfoByKey] | None:
        """The signature and infos of the function that a foreach function applies to every element."""
        base = function.name.element_base
        for schema, infos in self._by_signature(base, functional=True).values():
            if is_reference(function, schema):
                return schema, infos
        is_inplace = function.schema.kind is SchemaKind.inplace
        if is_inplace and str(function.name) in WITH_INPLACE_REFERENCE:
            for schema, infos in self._by_signature(base, functional=False).values():
                if is_reference(function, schema):
                    return schema, infos
        return None

    def _find_foreach(self, function: NativeFunction, problems: list[MatchProblem]) -> tuple[InfoByKey, How | None]:
        found = self.reference(function)
        if found is None:
            return {}, None
        schema, infos = found
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
