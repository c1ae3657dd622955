"""The formulas of a model as standalone functions.

The function of a backward formula takes the incoming gradients, the mask of needed gradients, the arguments of the
operator and its outputs; that of a forward formula takes the arguments, the tangents and the outputs. Other variables
are computed as by the generated kernel when it saves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from msgspec import Struct, convert, field, to_builtins

from derivlint.model import Model
from derivlint.model.differentiable import Differentiability, is_tensor_list
from derivlint.model.entry import DerivativeFormula, Entry, Role
from derivlint.model.generated.evaluation import Evaluation, Mode, Origin, evaluations
from derivlint.model.keys import DEFAULT, RESULT
from derivlint.operators.special import NOT_IMPLEMENTED
from derivlint.schema import SchemaKind
from derivlint.verify.inputs.sites import Site, decisions_of

#: The name prefix of foreach operators.
FOREACH = "_foreach_"
#: Line numbers beyond those of any file. Each formula of a foreach operator has this many, which distinguishes its
#: compiler messages from those about the entry.
_BEYOND = 5_000_000
LINES = 1000
BACKWARD = "backward"
FORWARD = "forward"


class FunctionValue(Struct, frozen=True):
    """An argument or return of an operator: its name in formulas, its schema type, whether it is written to."""

    name: str
    type: str
    is_write: bool = False


class FunctionSpec(Struct, frozen=True):
    """The description of a function for its callers; serializable plain values.

    Attributes:
        number: the index of the function, the suffix of its C++ name.
        kind: ``backward`` or ``forward``.
        operator: the operator with its overload, ``add.Tensor``.
        key: the key of the formula as written.
        arguments: the arguments of the operator in the order of its schema.
        returns: its returns.
        inputs: the names of the differentiable arguments.
        with_gradients: the names of the arguments that have a backward formula, in the order of their gradients.
        outputs: the positions of the differentiable returns.
        targets: the arguments whose gradient, or the returns whose tangent the function computes.
        tangents: for a forward formula, the arguments whose tangent it uses.
        line: the line of the formula in the YAML, from 1, or one beyond its end.
        masked: whether the formula reads ``grad_input_mask``.
        sites: the conditions and masks of the formula.
        bounds: the numbers in its comparisons.
        words: the string constants in it.
    """

    number: int
    kind: str
    operator: str
    key: str
    arguments: tuple[FunctionValue, ...]
    returns: tuple[FunctionValue, ...]
    inputs: tuple[str, ...]
    with_gradients: tuple[str, ...]
    outputs: tuple[int, ...]
    targets: tuple[str, ...]
    tangents: tuple[str, ...] = ()
    line: int = 0
    masked: bool = False
    sites: tuple[Site, ...] = ()
    bounds: tuple[float, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the function in C++ and in ``torch.ops``."""
        return f"formula_{self.number}"

    def to_json(self) -> dict[str, Any]:
        """Encode as a JSON object."""
        content: dict[str, Any] = to_builtins(self)
        return content

    @staticmethod
    def from_json(content: dict[str, Any]) -> FunctionSpec:
        """Decode from a JSON object.

        Raises:
            ValidationError: the object has another form.
        """
        return convert(content, FunctionSpec)


class FormulaFunction(Struct, frozen=True):
    """A formula with the parts from which its function is generated.

    Attributes:
        spec: the description for callers.
        evaluation: the expression and its variables.
        differentiability: the facts of the operator's kernel.
        written: the formula in the YAML.
    """

    spec: FunctionSpec
    evaluation: Evaluation
    differentiability: Differentiability
    written: DerivativeFormula


class CollectedFunctions(Struct):
    """The functions of a model, the formulas without one, with the reason, and the entries of unknown operators."""

    functions: list[FormulaFunction] = field(default_factory=list)
    left_out: list[tuple[DerivativeFormula, str]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def own_outputs(spec: FunctionSpec) -> tuple[FunctionValue, ...]:
    """The returns that are not arguments; in backward formulas ``result`` is the return of an in-place operator."""
    names = {value.name for value in spec.arguments}
    own = tuple(value for value in spec.returns if value.name not in names)
    if not own and spec.kind == BACKWARD and spec.returns:
        return (FunctionValue(RESULT, spec.returns[0].type),)
    return own


def collect(model: Model, operators: Collection[str] | None = None) -> CollectedFunctions:
    """Collect the functions of all formulas of a model that are expressions under the dispatch key Default.

    Args:
        model: the model.
        operators: only these operators, or None for all with an entry and the foreach operators that share its
            formulas.
    """
    collected = CollectedFunctions()
    lists = {name for name in operators or () if name.startswith(FOREACH)}
    bases = {name.partition(".")[0].removeprefix(FOREACH) for name in lists}
    derived: list[tuple[Evaluation, Differentiability]] = []
    for entry in model.entries:
        is_wanted = operators is None or entry.operator in operators
        if entry.function is None:
            if is_wanted and entry.operator is not None:
                collected.unknown.append(entry.operator)
            continue
        if operators is None or str(entry.operator).partition(".")[0] in bases:
            derived += (pair for pair in _derived(model, entry) if operators is None or _name_of(pair[1]) in lists)
        if not is_wanted:
            continue
        own = [*_own(model, entry)]
        _add(collected, model, own)
        evaluated = {id(evaluation.written) for evaluation, _ in own}
        for formula in entry.formulas:
            if id(formula) not in evaluated and formula.role is not Role.NON_DIFFERENTIABLE:
                key_reason = "" if formula.body.key == DEFAULT else f"it is of the dispatch key {formula.body.key}"
                collected.left_out.append(
                    (formula, key_reason or 'torchgen generates no code for it; "derivlint check" reports the reason')
                )
    _add(collected, model, derived)
    return collected


def _add(
    collected: CollectedFunctions, model: Model, evaluated: Iterable[tuple[Evaluation, Differentiability]]
) -> None:
    for evaluation, differentiability in evaluated:
        if NOT_IMPLEMENTED in evaluation.text:
            collected.left_out.append((evaluation.written, "not implemented"))
            continue
        if differentiability.outputs is None or differentiability.output_indices is None:
            reason = "the differentiability of its outputs is not known"
            collected.left_out.append((evaluation.written, reason))
            continue
        spec = _spec_of(len(collected.functions), model, evaluation, differentiability)
        collected.functions.append(FormulaFunction(spec, evaluation, differentiability, evaluation.written))


def _own(model: Model, entry: Entry) -> Iterator[tuple[Evaluation, Differentiability]]:
    """The formulas of an entry for its own function."""
    assert entry.function is not None
    canonical = entry.function.canonical
    own = [
        differentiability
        for differentiability in model.differentiabilities(entry)
        if differentiability.function is canonical and differentiability.key == DEFAULT
    ]
    if not own or own[0].info.source.kind != "entry":
        return
    for evaluation in evaluations(entry, own):
        if evaluation.mode is not Mode.SAVE and evaluation.origin is Origin.YAML:
            yield evaluation, own[0]


def list_operators(model: Model, operators: Collection[str]) -> set[str]:
    """The foreach operators that share the formulas of given operators."""
    entries = (entry for entry in model.entries if entry.operator in operators and entry.function is not None)
    return {_name_of(of) for entry in entries for of in _on_lists(model, entry)}


def _name_of(of: Differentiability) -> str:
    return str(of.function.name)


def _on_lists(model: Model, entry: Entry) -> Iterator[Differentiability]:
    """The functional foreach operators whose formulas are derived from an entry."""
    for of in model.differentiabilities(entry):
        is_functional = of.function.schema.kind is SchemaKind.functional
        if is_functional and of.key == DEFAULT and of.info.source.kind == "foreach":
            yield of


def _derived(model: Model, entry: Entry) -> Iterator[tuple[Evaluation, Differentiability]]:
    """The formulas of foreach operators derived from those of an entry."""
    for of in _on_lists(model, entry):
        for evaluation in evaluations(entry, [of]):
            if evaluation.mode is not Mode.SAVE and evaluation.origin is Origin.FOREACH:
                yield evaluation, of


def _spec_of(number: int, model: Model, evaluation: Evaluation, of: Differentiability) -> FunctionSpec:
    function = evaluation.function
    is_backward = evaluation.mode is Mode.BACKWARD
    formula = evaluation.written
    derivative = next((derivative for derivative in of.info.derivatives if derivative.written is formula), None)
    forward = next((forward for forward in of.forwards if forward.written is formula), None)
    targets: tuple[str, ...] = ()
    tangents: tuple[str, ...] = ()
    if is_backward and derivative is not None:
        targets = derivative.var_names
    elif forward is not None:
        targets = forward.var_names
        # automatic formulas name all arguments of the entry, also those that the foreach operator lacks
        inputs = {value.name for value in of.inputs}
        tangents = tuple(name for name in forward.required_inputs_fw_grad or () if name in inputs)
    lists = tuple(value.name for value in of.inputs if is_tensor_list(value.type))
    decisions = decisions_of(evaluation.text)
    return FunctionSpec(
        number,
        BACKWARD if is_backward else FORWARD,
        str(function.name),
        formula.key_text,
        tuple(
            FunctionValue(argument.name, str(argument.type), argument.is_write)
            for argument in function.schema.arguments.flat_all
        ),
        tuple(FunctionValue(value.name, str(value.type)) for value in of.returns),
        tuple(value.name for value in of.inputs),
        tuple(binding.name for binding in of.info.args_with_derivatives),
        of.output_indices or (),
        targets,
        (*tangents, *(name for name in lists if name not in tangents)) if not is_backward else (),
        _BEYOND + LINES * number
        if of.info.source.kind == "foreach"
        else model.source.position(formula.value_span.start).line,
        "grad_input_mask" in evaluation.variables,
        decisions.sites,
        decisions.bounds,
        decisions.words,
    )
