"""The assignment of infos to native functions.

Follows torchgen/api/autograd.py, ``match_differentiability_info``, and load_derivatives.py,
``add_view_copy_derivatives``: an entry applies to the named function, its in-place and out variants, the ``_copy`` twin
of a view, the generated functional variant of a mutable function, and foreach functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from derivlint.model.entry import DifferentiabilityInfo, Entry, ForwardDerivative, InfoSource
from derivlint.model.generated.foreach import WITH_INPLACE_REFERENCE, ForeachProblem, foreach_info, is_reference
from derivlint.model.generated.forward import InplaceProblem, MatchProblemKind, inplace_forwards
from derivlint.model.index import BY_SCHEMA, BY_SIGNATURE, signature_key
from derivlint.model.keys import DEFAULT
from derivlint.model.query import Answers
from derivlint.operators import Book
from derivlint.schema import NativeFunction, NativeFunctions, SchemaKind

T = TypeVar("T")
V = TypeVar("V")
#: The suffix of the ``_copy`` twins of views.
COPY = "_copy"
#: The infos of one function, by dispatch key.
InfoByKey = dict[str, DifferentiabilityInfo]


class How(Enum):
    """The rules by which torchgen matches a function with an info."""

    EXACT = "exact"
    SIGNATURE = "signature"
    GENERATED_FUNCTIONAL = "generated_functional"
    FOREACH_GENERATED = "foreach_generated"
    FOREACH_INPLACE = "foreach_inplace"


class MatchProblem(Struct, frozen=True):
    """The reason why a function cannot use an info that applies to it.

    Attributes:
        kind: the reason.
        function: the function.
        info: the info that would apply.
        detail: the underlying problem.
        is_of_part: whether PyTorch's file has an entry for the function, so that a file without one is incomplete.
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
        infos: the info for each dispatch key; empty if no entry applies.
        how: the rule of torchgen's matching that applied.
        forwards: the forward formulas for each dispatch key, None if no entry applies.
        book: the operator book.
        problems: the reasons why applicable infos cannot be used.
    """

    function: NativeFunction
    infos: InfoByKey
    how: How | None
    forwards: dict[str, tuple[ForwardDerivative, ...]] | None
    book: Book
    problems: tuple[MatchProblem, ...] = ()


def infos_of(entry: Entry) -> dict[str, InfoByKey]:
    """The infos of an entry under the key of its function."""
    if entry.function is None:
        return {}
    return {entry.function.canonical.key: {body.key: body.info for body in entry.bodies if body.info is not None}}


def twins_of(infos: Mapping[str, InfoByKey], natives: NativeFunctions) -> dict[str, InfoByKey]:
    """The infos of the ``_copy`` twins of views, by key; entries for the twins themselves take precedence."""
    twins = {}
    for by_key in infos.values():
        twin = _view_copy(next(iter(by_key.values())).func, natives) if by_key else None
        if twin is not None and twin.key not in infos:
            twins[twin.key] = _of_twin(by_key, twin)
    return twins


def _view_copy(function: NativeFunction, natives: NativeFunctions) -> NativeFunction | None:
    """The ``_copy`` twin of a view; None for other functions."""
    group = natives.view_group(function)
    return group.view_copy if group is not None and group.view.name == function.name else None


def _of_twin(infos: InfoByKey, twin: NativeFunction) -> InfoByKey:
    twins = {}
    for key, info in infos.items():
        base, _, rest = info.name.partition(".")
        source = InfoSource("view_copy", info.source.index)
        twins[key] = replace(info, name=f"{base}_copy.{rest}", func=twin, source=source, made_of=info)
    return twins


class Applicable(NamedTuple):
    """The entry whose infos apply to a function.

    Attributes:
        how: the rule of torchgen's matching that applied.
        schema: the schema of an entry.
        twin: the ``_copy`` twin of the entry's view if the infos are the twin's, or None.
    """

    how: How
    schema: str
    twin: NativeFunction | None = None


def _infos_for(answers: Answers, schema: str, twin: NativeFunction | None) -> InfoByKey:
    """The infos for a schema; the last of several entries counts, as in torchgen."""
    (*_, last) = answers.entries_in(BY_SCHEMA, schema)
    by_key = infos_of(last)[schema]
    return by_key if twin is None else _of_twin(by_key, twin)


class Matcher:
    """Finds the infos of native functions."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._book = answers.book

    def match(self, function: NativeFunction) -> FunctionMatch:
        """The infos that apply to a function, and the problems of unusable ones."""
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
            forwards[key], inplace_problems = inplace_forwards(info, own_entry=own)
            problems.extend(self._problem(problem.kind, function, info, problem) for problem in inplace_problems)
        return FunctionMatch(function, infos, how, forwards, self._book, tuple(problems))

    def _problem(
        self,
        kind: MatchProblemKind,
        function: NativeFunction,
        info: DifferentiabilityInfo,
        detail: InplaceProblem | ForeachProblem | None = None,
    ) -> MatchProblem:
        return MatchProblem(kind, function, info, detail, is_of_part=self._book.has_entry(function))

    def may_serve(self, canonical: NativeFunction, function: NativeFunction) -> bool:
        """Whether an entry could apply to a function, regardless of other entries.

        Args:
            canonical: the function of the entry.
            function: a function with the base name of the canonical one, of its ``_copy`` twin or of its foreach
                functions.
        """
        if function.namespace != canonical.namespace:
            return False
        base, signature = function.name.base, function.schema.signature_key_no_defaults
        if base == canonical.name.base:
            return signature == canonical.schema.signature_key_no_defaults
        if function.name.is_foreach:
            return is_reference(function, canonical.schema)
        twin = _view_copy(canonical, self._answers.natives)
        return twin is not None and signature == twin.schema.signature_key_no_defaults

    def source(self, function: NativeFunction) -> str | None:
        """The schema of the entry from which a function would get its infos, or None if no entry applies."""
        applicable = self._applicable_once(function)
        return None if applicable is None else applicable.schema

    def _applicable_once(self, function: NativeFunction) -> Applicable | None:
        return self._answers.ask(self._applicable, function)

    def _applicable(self, function: NativeFunction) -> Applicable | None:
        schema = function.schema
        if function.generated and schema.kind is SchemaKind.out:
            return None
        exact = self._exact(function)
        if exact is not None:
            return exact
        foreach = function.name.is_foreach
        if not foreach:
            by_signature = self._by_signature(function, How.SIGNATURE)
            if by_signature is not None:
                return by_signature
        variant = self._by_signature(function, How.GENERATED_FUNCTIONAL) if function.generated else None
        if variant is not None:
            return variant
        return self._reference(function) if foreach and self._answers.shares_foreach else None

    def _exact(self, function: NativeFunction) -> Applicable | None:
        """The entry with a function's own schema, or the entry of the view whose ``_copy`` twin it is."""
        if self._answers.values_in(BY_SCHEMA, function.key):
            return Applicable(How.EXACT, function.key)
        group = self._answers.natives.view_group(function) if function.name.base.endswith(COPY) else None
        if group is None or group.view_copy is not function:
            return None
        view = group.view.key
        has_infos = self._answers.values_in(BY_SCHEMA, view)
        return Applicable(How.EXACT, view, function) if has_infos and has_infos[-1] else None

    def _by_signature(self, function: NativeFunction, how: How) -> Applicable | None:
        """The last entry with the signature of a function, ignoring defaults; ``_copy`` twins come last."""
        is_functional = how is How.SIGNATURE
        key = signature_key(is_functional, function)
        if function.name.base.endswith(COPY):
            for twin in reversed(self._answers.natives.with_base(function.name.base)):
                if (twin.schema.kind is SchemaKind.functional) is is_functional and (
                    signature_key(is_functional, twin) == key
                ):
                    exact = self._exact(twin)
                    if exact is not None and exact.twin is not None:
                        return exact._replace(how=how)
        written = _with_infos(self._answers.values_in(BY_SIGNATURE, key))
        return Applicable(how, written[-1]) if written else None

    def _reference(self, function: NativeFunction) -> Applicable | None:
        """The entry of the function that a foreach function applies to each element."""
        is_inplace = function.schema.kind is SchemaKind.inplace
        how = How.FOREACH_INPLACE if is_inplace else How.FOREACH_GENERATED
        references = [
            candidate
            for candidate in self._answers.natives.with_base(function.name.element_base)
            if candidate.namespace == function.namespace and is_reference(function, candidate.schema)
        ]
        for is_functional in (True, False) if is_inplace and str(function.name) in WITH_INPLACE_REFERENCE else (True,):
            keys = dict.fromkeys(
                signature_key(is_functional, reference)
                for reference in references
                if (reference.schema.kind is SchemaKind.functional) is is_functional
            )
            schemas_by_key = {
                key: schemas for key in keys if (schemas := _with_infos(self._answers.values_in(BY_SIGNATURE, key)))
            }
            if schemas_by_key:
                # several signatures: the first one in the file counts
                first = next(iter(schemas_by_key)) if len(schemas_by_key) == 1 else min(schemas_by_key, key=self._place)
                return Applicable(how, schemas_by_key[first][-1])
        return None

    def _place(self, signature: str) -> int:
        """The position of the first entry with a signature."""
        return self._answers.entries_in(BY_SIGNATURE, signature)[0].index

    def _find(self, function: NativeFunction, problems: list[MatchProblem]) -> tuple[InfoByKey, How | None]:
        applicable = self._applicable_once(function)
        if applicable is None:
            return {}, None
        # memoized, so that all functions of a twin share one info object
        infos = self._answers.ask(_infos_for, self._answers, applicable.schema, applicable.twin)
        if applicable.how is How.GENERATED_FUNCTIONAL:
            for info in infos.values():
                if any("self" in saved.name for saved in info.all_saved_inputs):
                    problems.append(self._problem(MatchProblemKind.FUNCTIONAL_NEEDS_SELF, function, info))
                    return {}, None
        if applicable.how in (How.FOREACH_INPLACE, How.FOREACH_GENERATED):
            return self._of_reference(function, infos, problems)
        return infos, applicable.how

    def _of_reference(
        self, function: NativeFunction, infos: InfoByKey, problems: list[MatchProblem]
    ) -> tuple[InfoByKey, How | None]:
        info = infos.get(DEFAULT)
        if info is None:
            any_info = next(iter(infos.values()))
            problems.append(self._problem(MatchProblemKind.NO_DEFAULT_KEY, function, any_info))
            return {}, None
        if function.schema.kind is SchemaKind.inplace:
            return {DEFAULT: info}, How.FOREACH_INPLACE
        made, found_problems = foreach_info(function, info)
        problems.extend(self._problem(problem.kind, function, info, problem) for problem in found_problems)
        if made is None:
            return {}, None
        return {DEFAULT: made}, How.FOREACH_GENERATED


def _with_infos(rows: Iterable[tuple[str, bool]]) -> list[str]:
    """The schemas of entries with formulas, in file order; of equal schemas the last counts."""
    return [schema for schema, has_infos in dict(rows).items() if has_infos]
