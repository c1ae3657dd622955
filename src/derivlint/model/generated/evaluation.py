"""All C++ expressions that generated code evaluates, with the variables in scope.

Backward formulas are evaluated in the ``apply`` of a node, which unpacks saved variables; forward formulas in a kernel,
which has the arguments, the outputs, and primals and tangents of differentiable arguments; so are saved properties.
Follows gen_autograd_functions.py (``process_function``) and gen_variable_type.py (``emit_body``,
``emit_fw_derivatives``, ``save_variables``). Only this module encodes these declarations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType

from msgspec import Struct

from derivlint.cpp import parameter_type, return_names, return_type
from derivlint.cpp.cpp_type import SCALAR, template_type, types
from derivlint.cpp.expressions.consumer import Consumer, Use
from derivlint.cpp.types import BOOL, TENSOR, DeclaredType, declared_type, optional_of
from derivlint.formula import Edit, parse_formula
from derivlint.model.differentiable import Differentiability, is_tensor_list
from derivlint.model.entry import Derivative, DerivativeFormula, DifferentiabilityInfo, Entry
from derivlint.model.generated.foreach import kernel_text
from derivlint.model.generated.gradients import GRAD, GRAD_INPUT_MASK
from derivlint.model.generated.saved import SavedAttribute
from derivlint.model.match import How
from derivlint.model.scope import RETAIN_VARIABLES
from derivlint.model.words import mentions
from derivlint.operators.special import NOT_IMPLEMENTED
from derivlint.schema import NativeFunction
from derivlint.schema.native_function import DEFAULT_NAMESPACE
from derivlint.source.records import Choice

#: The types of saved variables after unpacking, by saved type.
UNPACKED = {
    saved: declared_type(unpacked)
    for unpacked, kinds in {
        "Tensor": "Tensor optional<Tensor>",
        "std::vector<Tensor>": "ArrayRef<Tensor> IListRef<Tensor> vector<Tensor>",
        "torch::List<std::optional<Tensor>>": "List<optional<Tensor>>",
        "std::vector<int64_t>": "ArrayRef<int64_t>",
        "std::vector<c10::SymInt>": "ArrayRef<SymInt>",
        "std::vector<at::Scalar>": "ArrayRef<Scalar>",
        "c10::OptionalArray<int64_t>": "OptionalArrayRef<int64_t>",
        "c10::OptionalArray<c10::SymInt>": "OptionalArrayRef<SymInt> optional<ArrayRef<SymInt>>",
        "c10::OptionalArray<double>": "optional<ArrayRef<double>>",
        "std::string": "string_view",
        "std::optional<std::string>": "optional<string_view>",
    }.items()
    for saved in types(kinds)
}
SIZE = declared_type("size_t")
GRADIENT = declared_type("const Tensor&")
ORIGINAL = optional_of(TENSOR)
INDEX = "i"
#: The value of an in-place function's first argument before it is overwritten.
ORIGINAL_SELF = "original_self"
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


class Mode(Choice):
    """The parts of generated code that evaluate expressions."""

    BACKWARD = "backward"
    FORWARD = "forward"
    SAVE = "save"


class Origin(Enum):
    """The sources of formulas: the entry itself, or torchgen's rewrite for another function."""

    YAML = "yaml"
    INPLACE = "inplace"
    FOREACH = "foreach"
    OTHER = "other"


class Evaluation(Struct, frozen=True):
    """An expression as evaluated in generated code.

    Attributes:
        written: the formula in the file.
        function: the function of the node or kernel that evaluates it.
        origin: the entry's own formula, or a rewrite for another function.
        mode: the part of generated code that evaluates it.
        dispatch: the dispatch key.
        text: the expression.
        variables: the declared types of the variables, by name.
        consumer: the use of its value.
        edits: the edits from the written formula to the text; None if it is derived in another way.
        place: the range of the written formula that the expression replaces; None for the whole formula.
        primals: the arguments by the names of their primals.
        tangents: the arguments by the names of their tangents.
    """

    written: DerivativeFormula
    function: NativeFunction
    origin: Origin
    mode: Mode
    dispatch: str
    text: str
    variables: dict[str, DeclaredType]
    consumer: Consumer
    edits: tuple[Edit, ...] | None = None
    place: tuple[int, int] | None = None
    primals: Mapping[str, str] = NO_VARIABLES
    tangents: Mapping[str, str] = NO_VARIABLES

    def written_range(self, start: int, end: int) -> tuple[int, int] | None:
        """Map a range of the text to the written formula, or return None if it has no counterpart."""
        if self.place is not None:
            return self.place
        if self.edits is None:
            return None
        return _before(self.edits, start, at_end=False), _before(self.edits, end, at_end=True)


def _before(edits: tuple[Edit, ...], offset: int, *, at_end: bool) -> int:
    """Map an offset from an edited text to the original; offsets in a replacement map to one of its ends."""
    shift = 0
    for edit in sorted(edits):
        start = edit.start + shift
        end = start + len(edit.text)
        if offset < start or (offset == start and not at_end):
            break
        if offset < end or (offset == end and at_end):
            return edit.end if at_end else edit.start
        shift += len(edit.text) - (edit.end - edit.start)
    return offset - shift


def evaluations(entry: Entry, differentiabilities: Sequence[Differentiability]) -> Iterator[Evaluation]:
    """The expressions in generated code that derive from an entry: its formulas, and torchgen's rewrites of them.

    Args:
        entry: the entry.
        differentiabilities: those of all functions that the entry serves.
    """
    if entry.function is None:
        return
    infos: set[int] = set()
    for differentiability in differentiabilities:
        info = differentiability.info
        if info.source.kind == "foreach" and differentiability.match.book.has_entry(info.func):
            # PyTorch's file has an entry for this function, so the file is incomplete
            continue
        if id(info) not in infos:
            infos.add(id(info))
            yield from _backward(info)
        if differentiability.is_generated and differentiability.requires_derivative and not differentiability.is_out:
            yield from _forward(entry, differentiability)
            if differentiability.match.how is How.EXACT:
                yield from _saved(differentiability)


# ---- nodes


def _backward(info: DifferentiabilityInfo) -> Iterator[Evaluation]:
    if not info.has_derivatives:
        return
    is_made = info.source.kind == "foreach"
    is_foreach = info.func.name.is_foreach
    origin = {"entry": Origin.YAML, "foreach": Origin.FOREACH}.get(info.source.kind, Origin.OTHER)
    shared = {
        "grads": declared_type("variable_list&&"),
        "needs_input_grad": declared_type(f"std::array<bool,{len(info.args_with_derivatives)}>"),
    }
    if retains_variables(info):
        shared[RETAIN_VARIABLES] = BOOL
    for binding in info.args_with_derivatives:
        if binding.is_tensor_list:
            shared[list_size(binding.name)] = SIZE
    for saved in info.all_saved_inputs:
        shared[saved.name] = declared_type(f"{unpacked_type(saved)}&")
    for saved in info.all_saved_outputs:
        shared[saved.name] = declared_type(f"{unpacked_type(saved, is_output=True)}&")
    if not is_foreach and any(derivative.uses_grad for derivative in info.derivatives):
        shared[GRAD] = GRADIENT
    shared |= dict.fromkeys(sorted(info.used_named_gradients), GRADIENT)
    for derivative in info.derivatives:
        if derivative.written is None:
            continue
        variables = dict(shared)
        if is_foreach:
            variables[INDEX] = SIZE
        consumer = _gradient_consumer(info, derivative)
        if consumer.use is Use.GRADIENT:
            variables["any_grad_defined"] = BOOL
        elif consumer.use is Use.GRADIENTS and GRAD_INPUT_MASK in derivative.formula:
            variables[GRAD_INPUT_MASK] = declared_type(f"std::array<bool, {len(derivative.var_names)}>")
        yield Evaluation(
            derivative.written,
            info.func,
            origin,
            Mode.BACKWARD,
            info.key,
            derivative.formula,
            variables,
            consumer,
            None if is_made else derivative.edits,
        )


def is_guarded(info: DifferentiabilityInfo, derivative: Derivative) -> bool:
    """Whether the node evaluates a backward formula only if an incoming gradient is defined.

    True for formulas for one tensor. PyTorch's helpers for several arguments and for lists handle undefined gradients;
    helpers of other namespaces may not. ``not_implemented`` always has to raise.
    """
    if NOT_IMPLEMENTED in derivative.formula:
        return False
    arguments = [item for item in info.args_with_derivatives if item.name in derivative.var_names]
    if len(derivative.var_names) == 1 and arguments and not arguments[0].is_tensor_list:
        return True
    return info.func.namespace != DEFAULT_NAMESPACE and not info.func.name.is_foreach


def retains_variables(info: DifferentiabilityInfo) -> bool:
    """Whether a formula of the node reads ``retain_variables``."""
    return any(
        RETAIN_VARIABLES in derivative.formula and mentions(parse_formula(derivative.formula), RETAIN_VARIABLES)
        for derivative in info.derivatives
    )


def list_size(name: str) -> str:
    """The node's variable with the length of a list argument."""
    return f"{name}_size_"


def unpacked_type(saved: SavedAttribute, *, is_output: bool = False) -> DeclaredType:
    """The type of a saved variable after the node has unpacked it."""
    # a returned number is saved as the tensor that autograd wraps it in
    saved_type = TENSOR if is_output and saved.type.canonical is SCALAR else saved.type
    return UNPACKED.get(saved_type.canonical, saved_type)


def _gradient_consumer(info: DifferentiabilityInfo, derivative: Derivative) -> Consumer:
    if len(derivative.var_names) > 1:
        return Consumer(Use.GRADIENTS, count=len(derivative.var_names))
    if info.func.name.is_foreach:
        return Consumer(Use.ELEMENT_GRADIENT)
    if NOT_IMPLEMENTED in derivative.formula:
        return Consumer(Use.BARE_GRADIENT)
    binding = next((item for item in info.args_with_derivatives if item.name == derivative.var_names[0]), None)
    argument = binding.argument if binding is not None else None
    if argument is None or is_tensor_list(argument.type):
        return Consumer(Use.BARE_GRADIENT)
    return Consumer(Use.GRADIENT)


# ---- kernels


def formals(function: NativeFunction) -> dict[str, DeclaredType]:
    """The parameters of a kernel."""
    return {argument.name: parameter_type(argument, function) for argument in function.schema.arguments.flat_all}


def _forward(entry: Entry, differentiability: Differentiability) -> Iterator[Evaluation]:
    if not differentiability.forwards:
        return
    function = differentiability.function
    parameters = formals(function)
    if not differentiability.is_inplace:
        for name, item in zip(return_names(function), function.schema.returns, strict=True):
            parameters[name] = return_type(item.type)
    info = differentiability.info
    inputs = [value.name for value in differentiability.inputs]
    if entry.function is not None and function is entry.function.canonical:
        origin = Origin.YAML
    elif differentiability.is_foreach:
        origin = Origin.FOREACH
    else:
        origin = Origin.INPLACE if differentiability.is_inplace else Origin.OTHER
    for forward in differentiability.forwards:
        if forward.written is None:
            continue
        primals: dict[str, str] = {}
        tangents: dict[str, str] = {}
        for name in inputs:
            if name in (forward.required_inputs_fw_grad or ()):
                tangents |= dict.fromkeys((f"{name}_t_raw", f"{name}_t"), name)
                primals[f"{name}_tensor"] = name
            if name in (forward.required_inputs_primal or ()):
                primals[f"{name}_p"] = name
        if forward.required_original_self_value:
            tangents |= dict.fromkeys((f"{ORIGINAL_SELF}_t_raw", f"{ORIGINAL_SELF}_t"), ORIGINAL_SELF)
            primals |= dict.fromkeys((f"{ORIGINAL_SELF}_tensor", f"{ORIGINAL_SELF}_p"), ORIGINAL_SELF)
        variables = {**parameters, **dict.fromkeys((*tangents, *primals), TENSOR)}
        if forward.required_original_self_value:
            if differentiability.is_inplace_foreach:
                variables[f"{ORIGINAL_SELF}s"] = declared_type(f"std::vector<{ORIGINAL}>")
            else:
                variables[ORIGINAL_SELF] = ORIGINAL
        if differentiability.is_foreach:
            variables[INDEX] = SIZE
        if len(forward.var_types) > 1:
            tangent = template_type("tuple", [return_type(kind).canonical for kind in forward.var_types])
        elif not differentiability.is_foreach and is_tensor_list(forward.var_types[0]):
            tangent = template_type("vector", [TENSOR.canonical])
        else:
            tangent = TENSOR.canonical
        text = forward.formula
        if differentiability.is_foreach:
            text = kernel_text(function, info.func.schema, text)
        yield Evaluation(
            forward.written,
            function,
            origin,
            Mode.FORWARD,
            differentiability.key,
            text,
            variables,
            Consumer(Use.ASSIGNED, type=template_type("optional", [tangent])),
            () if text == forward.written.text else None,
            primals=primals,
            tangents=tangents,
        )


# ---- saving


def _saved(differentiability: Differentiability) -> Iterator[Evaluation]:
    """The property expressions that the kernel evaluates to save them."""
    function = differentiability.function
    info = differentiability.info
    if info.source.kind != "entry":
        return
    variables: dict[str, DeclaredType] | None = None
    for derivative in info.derivatives:
        if derivative.written is None:
            continue
        for saved in (*derivative.saved_inputs, *derivative.saved_outputs):
            if saved.expr == saved.name:
                continue
            if variables is None:
                variables = formals(function)
                for name, item in zip(return_names(function), function.schema.returns, strict=True):
                    variables.setdefault(name, return_type(item.type))
            yield Evaluation(
                derivative.written,
                function,
                Origin.YAML,
                Mode.SAVE,
                info.key,
                saved.expr,
                variables,
                Consumer(Use.ASSIGNED, type=saved.type.canonical),
                place=_place(derivative, saved),
            )


def _place(derivative: Derivative, saved: SavedAttribute) -> tuple[int, int]:
    """The range of the written formula that a saved property replaces."""
    for edit in derivative.edits:
        if edit.text.startswith(saved.name):
            return edit.start, edit.end
    return 0, len(derivative.original_formula)
