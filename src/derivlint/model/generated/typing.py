"""C++ errors in the formulas of an entry and in the formulas that torchgen generates from them.

All expressions in generated code (:mod:`derivlint.model.generated.evaluation`) are typed, and problems mapped to the
formula in the file. Problems in rewrites for other functions are reported only if the written formula has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from derivlint.cpp.cpp_type import SCALAR, TENSOR, Value
from derivlint.cpp.expressions.consumer import Consumer, Use, check_result
from derivlint.cpp.expressions.inference import Inference
from derivlint.cpp.library import Library
from derivlint.cpp.lookup import EntityKind, look_up
from derivlint.cpp.problem import ACCEPTED, TypeProblem, TypeProblemKind
from derivlint.cpp.scope import BACKWARD_LEVELS, FORWARD_LEVELS, Scope
from derivlint.cpp.types import DeclaredType
from derivlint.formula import (
    Call,
    Expr,
    Formula,
    Index,
    Lambda,
    Name,
    Node,
    SyntaxProblemKind,
    parse_formula,
    unparenthesized,
    walk,
)
from derivlint.formula.nodes import Declared
from derivlint.model.entry import DerivativeFormula, Entry, Role
from derivlint.model.generated.evaluation import INDEX, Evaluation, Mode, Origin
from derivlint.model.generated.forward import SELF_TANGENT, base_name_uses, copied_formula, misread_base_name
from derivlint.model.keywords import near_keyword
from derivlint.model.resolve import NameKind
from derivlint.model.scope import undeclared_names, visible_names
from derivlint.source import Span
from derivlint.source.lazy import memoized

SELF_TANGENT_RAW = f"{SELF_TANGENT}_raw"


def _called_names(tree: Node) -> Iterator[str]:
    """The unqualified names of called functions, also in the statements of lambdas, which may call their variables."""
    for node in walk(tree):
        if isinstance(node, Call) and isinstance(node.callee, Name) and node.callee.simple is not None:
            yield node.callee.simple
        elif isinstance(node, Lambda) and node.statements is not None:
            declared = (part.names for part in walk(node.statements) if isinstance(part, Declared))
            bound = {param.name for param in node.params}.union(name.simple for names in declared for name in names)
            yield from (name for name in _called_names(node.statements) if name not in bound)


@memoized
def is_checkable(written: DerivativeFormula) -> bool:
    """Whether a formula can be typed: it is an expression under a key that resolves."""
    formula = written.parsed
    if formula.tree is None or any(
        problem.kind is not SyntaxProblemKind.COMMA_OPERATOR for problem in formula.problems
    ):
        return False
    if near_keyword(written) is not None or not has_sound_key(written):
        return False
    info = written.body.info
    if written.auto is None or info is None:
        return True
    # torchgen expands these keywords only for a single output that is not a list of tensors
    return len(written.names) == 1 and not any(binding.is_tensor_list for binding in info.args_with_derivatives)


def has_sound_key(formula: DerivativeFormula) -> bool:
    """Whether the names in a key are distinct tensors, all arguments or all outputs, and in no other key."""
    names = [name.text for name in formula.names]
    if len(set(names)) != len(names) or any(formula.body.keys_with[name] > 1 for name in names):
        return False
    expected = NameKind.ARGUMENT if formula.role is Role.BACKWARD else NameKind.OUTPUT
    for _, resolved in formula.resolved_names:
        if resolved.kind is not expected:
            return False
        if resolved.argument is not None and not resolved.argument.is_tensor_like:
            return False
    return True


def is_known_wrong(formula: DerivativeFormula) -> bool:
    """Whether another rule reports the formula, so that its rewrites are not checked."""
    if undeclared_names(formula) or base_name_uses(formula) or misread_base_name(formula):
        return True
    return formula.forward is not None and not formula.forward.required_inputs_fw_grad


class FormulaProblem(Struct, frozen=True):
    """A type problem of a formula.

    Attributes:
        written: the formula.
        evaluation: the evaluation with the error.
        problem: the C++ error.
        where: the span of the erroneous part; of the whole formula if that part is generated.
        is_exact: whether ``where`` is exactly the erroneous part.
        start: the offset of that part in the written formula.
        end: the offset after it.
    """

    written: DerivativeFormula
    evaluation: Evaluation
    problem: TypeProblem
    where: Span
    is_exact: bool
    start: int = 0
    end: int = 0

    @property
    def is_written(self) -> bool:
        """Whether the written formula has the error, rather than a rewrite for another function."""
        return self.evaluation.origin is Origin.YAML and self.evaluation.mode is not Mode.SAVE


class Typed(Struct, frozen=True, eq=False):
    """A typed expression.

    Attributes:
        formula: the parsed text, which owns the nodes.
        tree: its syntax tree.
        typer: the types of all nodes.
        value: the type of the whole expression.
    """

    formula: Formula
    tree: Expr
    typer: Inference
    value: Value


class TypeChecker:
    """Types the formulas of a model, each distinct expression once.

    Attributes:
        library: the declarations, including those of the operators' own headers.
    """

    def __init__(
        self, library: Library, *, is_complete: bool, fallback: Callable[[], TypeChecker | None] = lambda: None
    ) -> None:
        """Create a checker.

        Args:
            library: the declarations.
            is_complete: whether an undeclared function is an error.
            fallback: returns a checker without headers that confirms errors, or None. Called only for formulas with
                errors, so that other results do not depend on its reads.
        """
        self.library = library
        self._is_complete = is_complete
        self._fallback = fallback
        #: results by text and mode, each with the types of the names that were looked up
        self._typed: dict[tuple[str, Mode], list[tuple[dict[str, DeclaredType | None], Typed]]] = {}

    def problems(self, entry: Entry, evaluations: Iterable[Evaluation]) -> tuple[FormulaProblem, ...]:
        """The problems of an entry's formulas, without duplicates, in file order.

        Args:
            entry: the entry.
            evaluations: the generated expressions.
        """
        located: list[FormulaProblem] = []
        wrong: set[DerivativeFormula] = set()
        # written formulas first
        ordered = sorted(
            evaluations,
            key=lambda item: (item.origin is not Origin.YAML, item.mode is Mode.SAVE, item.written.auto is not None),
        )
        for evaluation in ordered:
            formula = evaluation.written
            if formula in wrong or not is_checkable(formula):
                continue
            if evaluation.origin is not Origin.YAML and is_known_wrong(formula):
                continue
            if formula.auto is not None and not wrong.isdisjoint(formula.body.formulas):
                # "auto_element_wise" has the problems of the backward formula
                continue
            problems = self._check(evaluation)
            if evaluation.origin is not Origin.YAML:
                # what is accepted in the formula is accepted in its rewrites
                problems = tuple(problem for problem in problems if problem.kind not in ACCEPTED)
            if problems:
                if any(problem.kind not in ACCEPTED for problem in problems):
                    wrong.add(formula)
                located.extend(
                    _located(evaluation, problem) for problem in problems if not _is_reported(evaluation, problem)
                )
        return tuple(sorted(located, key=lambda item: item.where))

    def unknown_functions(self, entries: Iterable[Entry]) -> frozenset[str]:
        """The functions that are called unqualified and declared in no known header; empty if all headers are known.

        Args:
            entries: the entries.
        """
        if (self._fallback() or self)._is_complete:
            return frozenset()
        return frozenset(
            name
            for entry in entries
            for formula in entry.formulas
            if is_checkable(formula) and formula.parsed.tree is not None
            for name in _called_names(formula.parsed.tree)
            if self._is_unknown(name, is_backward=formula.role is Role.BACKWARD)
        )

    def _is_unknown(self, name: str, *, is_backward: bool) -> bool:
        scope = Scope({}, BACKWARD_LEVELS if is_backward else FORWARD_LEVELS, "", False)
        if look_up(self.library, scope, name).kind is not EntityKind.NOTHING:
            return False
        # functions of another namespace and misspelt names are reported instead
        return not self.library.functions("at", name).exists and not self.library.resembles_function(name)

    def typed(self, evaluation: Evaluation, text: str) -> Typed | None:
        """Type an expression, or return None if it does not parse.

        Args:
            evaluation: where the expression is evaluated.
            text: the expression.
        """
        declared = evaluation.variables
        results = self._typed.setdefault((text, evaluation.mode), [])
        for types, typed in results:
            if all(declared.get(name) is type for name, type in types.items()):
                return typed
        formula = parse_formula(text)
        if formula.tree is None:
            return None
        typer = Inference(scope_of(evaluation, self._is_complete), self.library)
        typed = Typed(formula, formula.tree, typer, typer.of(formula.tree))
        if not typed.typer.problems:
            # problems may mention variables that were not looked up
            results.append(({name: declared.get(name) for name in typed.typer.asked}, typed))
        elif (fallback := self._fallback()) is not None:
            return fallback.typed(evaluation, text)
        return typed

    def _check(self, evaluation: Evaluation) -> tuple[TypeProblem, ...]:
        """Type an expression; errors come before notes."""
        text, consumer = evaluation.text, evaluation.consumer
        copied = copied_formula(text)
        if copied is not None and SELF_TANGENT_RAW in evaluation.variables:
            # the kernel contains the formula twice, so check one copy, which must be a tensor
            text, consumer = copied, Consumer(Use.ASSIGNED, type=TENSOR)
        typed = self.typed(evaluation, text)
        if typed is None:
            return ()
        typer = typed.typer
        problems = tuple(typer.problems)
        if not problems:
            check_result(typer, typed.tree, typed.value, consumer)
            problems = tuple(typer.problems)
            # do not report problems of the consumer
            typer.problems.clear()
        problems = (*problems, *typer.notes, *_misindexed(evaluation, typed))
        fallback = self._fallback() if problems else None
        return problems if fallback is None else fallback._check(evaluation)


def _misindexed(evaluation: Evaluation, typed: Typed) -> Iterator[TypeProblem]:
    """The lists in a foreach formula with another index than "i", and the tensors with that index."""
    if INDEX not in evaluation.variables or any(isinstance(node, Lambda) for node in typed.formula.nodes):
        return
    for node in typed.formula.nodes:
        if not isinstance(node, Index) or node.object not in typed.typer.found:
            continue
        object = typed.typer.found[node.object].type
        is_list = object.head in ("vector", "ArrayRef") and object.arguments[:1] in ((TENSOR,), (SCALAR,))
        # in forward formulas, torchgen makes "result[i][0]" of "result[0]"
        is_part = object is TENSOR and (_is_element(node) or _is_element(unparenthesized(node.object)))
        if is_part or (is_list and not _is_element(node)):
            name, alternative = (evaluation.text[part.start : part.end] for part in (node, node.object))
            yield TypeProblem(
                TypeProblemKind.ELEMENT_INDEX,
                node.start,
                node.end,
                name=name,
                object=object,
                alternative=alternative if is_part else f"{alternative}[{INDEX}]",
            )


def _is_element(node: Expr) -> bool:
    """Whether an expression is an element "i" of something."""
    index = unparenthesized(node.args[0]) if isinstance(node, Index) and len(node.args) == 1 else None
    return isinstance(index, Name) and index.simple == INDEX


def scope_of(evaluation: Evaluation, is_complete: bool) -> Scope:
    """The scope in which the generated code evaluates an expression.

    Args:
        evaluation: the expression.
        is_complete: whether an undeclared function is an error.
    """
    backward = evaluation.mode is Mode.BACKWARD
    return Scope(
        {name: type.value for name, type in evaluation.variables.items()},
        BACKWARD_LEVELS if backward else FORWARD_LEVELS,
        "backward formula" if backward else "forward formula",
        is_complete,
    )


def _is_reported(evaluation: Evaluation, problem: TypeProblem) -> bool:
    """Whether another rule reports the problem."""
    if evaluation.origin is not Origin.YAML or evaluation.mode is Mode.SAVE:
        return False
    formula = evaluation.written
    if problem.kind is TypeProblemKind.UNDECLARED_NAME:
        names = (*visible_names(formula), *(name.word.text for name in undeclared_names(formula)))
        return problem.name in names
    # an automatic formula has the type of its backward formula
    return problem.kind is TypeProblemKind.RESULT and formula.auto is not None


def _located(evaluation: Evaluation, problem: TypeProblem) -> FormulaProblem:
    formula = evaluation.written
    span = evaluation.written_range(problem.start, problem.end)
    if span is None:
        return FormulaProblem(formula, evaluation, problem, formula.value_span, False)
    written = formula.parsed.text[span[0] : span[1]]
    if problem.name not in written and problem.kind in (
        TypeProblemKind.NO_SUCH_MEMBER,
        TypeProblemKind.NOT_IN_NAMESPACE,
    ):
        # "at::zeros_like(y)", which torchgen rewrites to "at::y_info.zeros()"
        return FormulaProblem(formula, evaluation, replace(problem, subject=written), formula.range(*span), True, *span)
    if problem.subject not in formula.parsed.text:
        # the name of a saved property, such as "self_sym_sizes", is unknown to the author
        problem = replace(problem, subject="")
    return FormulaProblem(formula, evaluation, problem, formula.range(*span), True, *span)
