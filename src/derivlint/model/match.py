"""Which info applies to which native function.

Follows torchgen/api/autograd.py, ``match_differentiability_info``, and load_derivatives.py,
``add_view_copy_derivatives``: one entry serves the function it names, its in-place and out variants, the ``_copy`` twin
of a view, the generated functional variant of a mutable function and the foreach functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from copy import copy
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from derivlint.model.derivative import DifferentiabilityInfo, ForwardDerivative, InfoSource
from derivlint.model.foreach import WITH_INPLACE_REFERENCE, ForeachProblem, foreach_info, is_reference
from derivlint.model.inplace import InplaceProblem, inplace_forwards
from derivlint.model.read import DEFAULT
from derivlint.operators import Book
from derivlint.schema import FunctionSchema, NativeFunction, NativeFunctions, SchemaKind

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
        kind: ``functional-needs-self`` (the generated functional variant has no ``self`` to save),
            ``no-default-key`` (a foreach function needs the reference's ``Default`` formulas), or a kind of
            :class:`InplaceProblem` or :class:`ForeachProblem`.
        function: the function.
        info: the info that would apply.
        detail: the problem that was found deeper down.
        is_of_part: whether PyTorch gives the function an entry of its own, so that a file without it is a part of one.
    """

    kind: str
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
                op=f"{info.op}_copy" if info.op is not None else None,
                source=InfoSource("view_copy", info.source.index),
            )
        if schema is not None and schema not in infos:
            copies[schema] = twins
    return copies


#: By the signature without defaults: the schema's signature, and the infos.
_BySignature = dict[str, tuple[FunctionSchema, InfoByKey]]
_ByBase = dict[str, list[tuple[FunctionSchema, InfoByKey]]]


class Matcher:
    """Finds the info of any native function.

    Attributes:
        foreach: the infos generated for out-of-place foreach functions so far, by schema.
    """

    def __init__(self, infos: Mapping[str, InfoByKey], book: Book) -> None:
        self._infos = infos
        self._book = book
        self._functional: dict[str, tuple[FunctionSchema, InfoByKey]] = {}
        self._other: dict[str, tuple[FunctionSchema, InfoByKey]] = {}
        for by_key in infos.values():
            if by_key:
                schema = next(iter(by_key.values())).func.schema
                kinds = self._functional if schema.kind is SchemaKind.functional else self._other
                kinds[schema.signature_key_no_defaults] = (schema.signature(strip_default=True), by_key)
        self._functional_by_base = self._by_base(self._functional.values())
        self._other_by_base = self._by_base(self._other.values())
        self.foreach: dict[str, InfoByKey] = {}

    @staticmethod
    def _by_base(
        items: Iterable[tuple[FunctionSchema, InfoByKey]],
    ) -> dict[str, list[tuple[FunctionSchema, InfoByKey]]]:
        by_base: dict[str, list[tuple[FunctionSchema, InfoByKey]]] = {}
        for item in items:
            by_base.setdefault(item[0].name.base, []).append(item)
        return by_base

    def replaced(
        self, infos: Mapping[str, InfoByKey], gone: Iterable[InfoByKey], own: Mapping[str, InfoByKey]
    ) -> Matcher:
        """A matcher with other infos for a few functions; to make one of all of them takes far longer.

        Args:
            infos: all infos that the new one knows.
            gone: the infos of this one that it does not know any more.
            own: those that it knows besides.
        """
        new = Matcher(own, self._book)
        old = Matcher({str(index): by_key for index, by_key in enumerate(gone)}, self._book)
        found = copy(self)
        found._infos = infos
        found._functional = _changed(self._functional, old._functional, new._functional)
        found._other = _changed(self._other, old._other, new._other)
        names = old._functional_by_base.keys() | new._functional_by_base.keys()
        found._functional_by_base = _by_base_changed(self._functional_by_base, found._functional, names)
        names = old._other_by_base.keys() | new._other_by_base.keys()
        found._other_by_base = _by_base_changed(self._other_by_base, found._other, names)
        found.foreach = {}
        return found

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
                self._problem("strides-of-self", function, info)
                for derivative in info.derivatives
                if "self" in derivative.var_names and derivative.saves_strides
            )
            own = how is How.EXACT
            forwards[key], found = inplace_forwards(info, own_entry=own)
            problems.extend(self._problem(problem.kind, function, info, problem) for problem in found)
        return FunctionMatch(function, infos, how, forwards, self._book, tuple(problems))

    def _problem(
        self,
        kind: str,
        function: NativeFunction,
        info: DifferentiabilityInfo,
        detail: InplaceProblem | ForeachProblem | None = None,
    ) -> MatchProblem:
        return MatchProblem(kind, function, info, detail, is_of_part=self._book.has_entry(function))

    def _find(self, function: NativeFunction, problems: list[MatchProblem]) -> tuple[InfoByKey, How | None]:
        schema = function.schema
        if function.generated and schema.kind is SchemaKind.out:
            return {}, None
        text = str(schema)
        if text in self._infos:
            return self._infos[text], How.EXACT
        signature = schema.signature_key_no_defaults
        foreach = function.name.is_foreach
        if signature in self._functional and not foreach:
            return self._functional[signature][1], How.SIGNATURE
        if function.generated and signature in self._other:
            infos = self._other[signature][1]
            for info in infos.values():
                if any("self" in saved.name for saved in info.all_saved_inputs):
                    problems.append(self._problem("functional-needs-self", function, info))
                    return {}, None
            return infos, How.GENERATED_FUNCTIONAL
        if foreach:
            return self._find_foreach(function, problems)
        return {}, None

    def reference(self, function: NativeFunction) -> tuple[FunctionSchema, InfoByKey] | None:
        """The signature and infos of the function that a foreach function applies to every element."""
        base = function.name.element_base
        for schema, infos in self._functional_by_base.get(base, ()):
            if is_reference(function, schema):
                return schema, infos
        is_inplace = function.schema.kind is SchemaKind.inplace
        if is_inplace and str(function.name) in WITH_INPLACE_REFERENCE:
            for schema, infos in self._other_by_base.get(base, ()):
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
            problems.append(self._problem("no-default-key", function, any_info))
            return {}, None
        if function.schema.kind is SchemaKind.inplace:
            return {DEFAULT: info}, How.FOREACH_INPLACE
        made, found_problems = foreach_info(function, info, schema)
        problems.extend(self._problem(problem.kind, function, info, problem) for problem in found_problems)
        if made is None:
            return {}, None
        by_key = {DEFAULT: made}
        self.foreach[str(function.schema)] = by_key
        return by_key, How.FOREACH_GENERATED


def _changed(base: _BySignature, old: _BySignature, new: _BySignature) -> _BySignature:
    found = {key: item for key, item in base.items() if key not in old or item[1] is not old[key][1]}
    found.update(new)
    return found


def _by_base_changed(base: _ByBase, now: _BySignature, names: Collection[str]) -> _ByBase:
    found = dict(base)
    for name in names:
        found.pop(name, None)
    for item in now.values():
        if item[0].name.base in names:
            found.setdefault(item[0].name.base, []).append(item)
    return found
