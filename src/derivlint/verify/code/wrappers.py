"""C++ files with a function for each formula, called from Python as ``torch.ops.derivlint_verify.formula_0``.

A formula is in a function of its own with the parameters of generated code, inside a boxed function for the dispatcher.
PyTorch's autograd differentiates through these functions, which gives second derivatives of formulas.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from derivlint.compiler.relation_types import spelled
from derivlint.compiler.unit import is_confined
from derivlint.cpp.cpp_type import TENSOR
from derivlint.cpp.expressions.consumer import Use
from derivlint.cpp.types import DeclaredType
from derivlint.emit.release import Release, release_of
from derivlint.emit.template import yaml_name
from derivlint.model import Model
from derivlint.model.generated.evaluation import INDEX, ORIGINAL_SELF, Mode, formals, list_size, unpacked_type
from derivlint.model.generated.gradients import incoming_gradients
from derivlint.verify.code.functions import BACKWARD, FormulaFunction, FunctionSpec, own_outputs
from derivlint.verify.code.headers import COMMON, OPERATORS
from derivlint.verify.inputs.sites import instrumented

_DATA = Path(__file__).parents[1] / "data"
HEAD = _DATA / "formula_functions.cpp"
#: The source that registers the functions as operators: the same for all formulas.
REGISTRATION = _DATA / "registration.cpp"
#: The namespace of the functions, and the name of the operator library.
LIBRARY = "derivlint_verify"
_DETAILS = "torch::autograd::generated::details"
_FOUND = "c10::List<std::optional<at::Tensor>>"
#: The owning C++ type of an argument, by its schema type without list sizes.
_HOLDERS = {
    "Tensor": "at::Tensor",
    "Tensor?": "std::optional<at::Tensor>",
    "Tensor[]": "std::vector<at::Tensor>",
    "Tensor?[]": "c10::List<std::optional<at::Tensor>>",
    "Scalar": "at::Scalar",
    "Scalar?": "std::optional<at::Scalar>",
    "Scalar[]": "std::vector<at::Scalar>",
    "int": "int64_t",
    "int?": "std::optional<int64_t>",
    "int[]": "std::vector<int64_t>",
    "int[]?": "c10::OptionalArray<int64_t>",
    "SymInt": "c10::SymInt",
    "SymInt?": "std::optional<c10::SymInt>",
    "SymInt[]": "std::vector<c10::SymInt>",
    "SymInt[]?": "c10::OptionalArray<c10::SymInt>",
    "float": "double",
    "float?": "std::optional<double>",
    "float[]": "std::vector<double>",
    "float[]?": "c10::OptionalArray<double>",
    "bool": "bool",
    "bool?": "std::optional<bool>",
    "str": "std::string",
    "str?": "std::optional<std::string>",
    "Generator": "at::Generator",
    "Generator?": "std::optional<at::Generator>",
    "ScalarType": "at::ScalarType",
    "ScalarType?": "std::optional<at::ScalarType>",
    "Layout": "at::Layout",
    "Layout?": "std::optional<at::Layout>",
    "Device": "at::Device",
    "Device?": "std::optional<at::Device>",
    "MemoryFormat": "at::MemoryFormat",
    "MemoryFormat?": "std::optional<at::MemoryFormat>",
}
_SIZE = re.compile(r"\[\d+\]")
_BOOLS = re.compile(r"bool\[(\d+)\]")


def uncallable_reason(function: FormulaFunction) -> str:
    """The reason why a formula cannot be a function, or empty."""
    spec = function.spec
    for value in (*spec.arguments, *spec.returns):
        if holder(value.type) is None:
            return f'no value of type "{value.type}" can be passed'
    if not is_confined(function.evaluation.text):
        return "the formula is not an expression"
    return ""


def source_of(model: Model, functions: Sequence[FormulaFunction], *, few: bool = False) -> str:
    """A C++ file with these functions; several files make one library.

    Args:
        model: the model.
        functions: the formulas.
        few: whether to include only the operators that it names (:mod:`derivlint.verify.code.headers`).
    """
    head = f'#include "{COMMON}"\n#include "{OPERATORS}"\n' if few else HEAD.read_text(encoding="utf-8")
    parts = [head]
    for function in functions:
        make = backward_function if function.evaluation.mode is Mode.BACKWARD else forward_function
        parts.append(make(model, function))
    # the library is loaded for the side effects of its static initializers
    added = "".join(
        f'{LIBRARY}::add_operator("{_schema(spec)}", "{spec.name}", '
        f"&torch::autograd::VariableType::{spec.name}_boxed);\n"
        for spec in (function.spec for function in functions)
    )
    parts.append(f"static const bool dv_added = [] {{\n{added}return true;\n}}();\n")
    return "\n".join(parts)


def _schema(spec: FunctionSpec) -> str:
    if spec.kind == BACKWARD:
        parts = ["Tensor?[] grads", "bool[] needs"]
    else:
        parts = ["Tensor?[] tangents", "Tensor?[] originals"]
    parts += [f"{value.type} a{index}" for index, value in enumerate(spec.arguments)]
    parts += [f"{value.type} r{index}" for index, value in enumerate(own_outputs(spec))]
    return f"{spec.name}({', '.join(parts)}) -> Tensor?[]"


def holder(kind: str) -> str | None:
    """Return the owning C++ type of an argument with a schema type, or None."""
    bools = _BOOLS.fullmatch(kind)
    if bools is not None:
        return f"std::array<bool, {bools[1]}>"
    return _HOLDERS.get(_SIZE.sub("[]", kind))


def backward_function(model: Model, function: FormulaFunction) -> str:
    """The functions of a backward formula; parameters: incoming gradients, needed mask, arguments, outputs."""
    spec, evaluation = function.spec, function.evaluation
    info = function.differentiability.info
    name, use = spec.name, evaluation.consumer.use
    variables = dict(evaluation.variables)
    body = _in_yaml(model, function)
    if use is Use.GRADIENT:
        value = f"auto dv_result = any_grad_defined ? ({body}) : Tensor();"
    elif use is Use.ELEMENT_GRADIENT:
        del variables[INDEX]
        value = (
            "std::vector<Tensor> dv_result(grads.size());\n"
            "for (size_t i = 0; i < grads.size(); ++i) {\n"
            f"if (grads[i].defined()) {{ dv_result[i] = ({body}); }}\n}}"
        )
    else:
        value = f"auto dv_result = ({body});"
    lines = [
        f"torch::autograd::variable_list grads = {LIBRARY}::tensors(dv_args[0]);",
        "const auto dv_needs = dv_args[1].toBoolList();",
        f"std::array<bool, {len(info.args_with_derivatives)}> needs_input_grad{{}};",
        "for (size_t i = 0; i < needs_input_grad.size(); ++i) { needs_input_grad[i] = dv_needs[i]; }",
        f"[[maybe_unused]] const bool any_grad_defined = {_DETAILS}::any_variable_defined(grads);",
        "[[maybe_unused]] const bool retain_variables = true;",
        _mask(function),
    ]
    passed = _BackwardArguments(function, release_of(model.natives.version))
    arguments = [passed.argument(variable, kind) for variable, kind in variables.items()]
    scope = "torch::autograd::generated"
    inner = _inner(scope, name, variables, f"{value}\n{LIBRARY}::put(dv_found, dv_result);")
    call = f"{scope}::{name}_inner({', '.join(['dv_found', *arguments])});"
    return inner + _boxed(function, [*lines, *passed.lines], call)


def _mask(function: FormulaFunction) -> str:
    """The declaration of ``grad_input_mask``, the mask of needed gradients of the formula."""
    info = function.differentiability.info
    derivative = next(derivative for derivative in info.derivatives if derivative.written is function.written)
    places = [function.spec.with_gradients.index(name) for name in derivative.var_names]
    values = ", ".join(f"needs_input_grad[{place}]" for place in places)
    return f"[[maybe_unused]] const std::array<bool, {len(places)}> grad_input_mask{{{values}}};"


class _BackwardArguments:
    """The C++ arguments of a backward formula, as unpacked by a node.

    Attributes:
        lines: declarations of the arguments.
    """

    def __init__(self, function: FormulaFunction, release: Release) -> None:
        info = function.differentiability.info
        derivative = next(derivative for derivative in info.derivatives if derivative.written is function.written)
        self.lines: list[str] = []
        self._release = release
        self._saved = {saved.name: saved for saved in (*info.all_saved_inputs, *info.all_saved_outputs)}
        self._own = {saved.name for saved in (*derivative.saved_inputs, *derivative.saved_outputs)}
        self._sizes = {
            list_size(argument.name): argument.name
            for argument in info.args_with_derivatives
            if argument.is_tensor_list
        }
        self._gradients = incoming_gradients(info)

    def argument(self, variable: str, kind: DeclaredType) -> str:
        """Return the expression for a variable of a C++ type, and add its declaration to ``lines``."""
        if variable == "grads":
            return "std::move(grads)"
        if variable in self._saved:
            saved = self._saved[variable]
            unpacked = self._release.spelled(str(unpacked_type(saved)))
            type = "at::Tensor" if kind.value.type is TENSOR else unpacked
            # variables of other formulas of the node are declared as well, but never read
            value = f" = {LIBRARY}::saved<{type}>({saved.expr})" if variable in self._own else "{}"
            self.lines.append(f"{type} {variable}_saved{value};")
            return f"{variable}_saved"
        if variable in self._sizes:
            return f"{self._sizes[variable]}.size()"
        if variable in self._gradients:
            self.lines.append(f"const at::Tensor dv_{variable} = grads[{self._gradients[variable]}];")
            return f"dv_{variable}"
        return variable


def forward_function(model: Model, function: FormulaFunction) -> str:
    """The functions of a forward formula; parameters: tangents, original first argument, arguments, outputs."""
    if function.differentiability.is_foreach:
        return _of_elements(model, function)
    spec, evaluation = function.spec, function.evaluation
    inputs = [value.name for value in function.differentiability.inputs]
    lines = [
        f"const auto dv_tangents = {LIBRARY}::tensors(dv_args[0]);",
        f"const auto dv_originals = {LIBRARY}::tensors(dv_args[1]);",
    ]
    arguments = ["dv_found"]
    for variable in evaluation.variables:
        if variable == ORIGINAL_SELF:
            lines.append(f"std::optional<at::Tensor> {variable}_in = dv_originals[0];")
        elif variable in evaluation.tangents:
            of = evaluation.tangents[variable]
            value = f"dv_tangents[{0 if of == ORIGINAL_SELF else inputs.index(of)}]"
            lines.append(f"at::Tensor {variable}_in = {value};")
        elif variable in evaluation.primals:
            of = evaluation.primals[variable]
            value = "dv_originals[0]" if of == ORIGINAL_SELF else f"{_DETAILS}::toNonOptTensor({of})"
            lines.append(f"at::Tensor {variable}_in = {value};")
        else:
            arguments.append(variable)
            continue
        arguments.append(f"{variable}_in")
    value = f"{spelled(evaluation.consumer.type)} dv_value;\ndv_value = {_in_yaml(model, function)};"
    name = spec.name
    inner = _inner(
        "torch::autograd::VariableType",
        name,
        evaluation.variables,
        f"{value}\n{LIBRARY}::put(dv_found, dv_value);",
    )
    return inner + _boxed(function, lines, f"{name}_inner({', '.join(arguments)});")


def _of_elements(model: Model, function: FormulaFunction) -> str:
    """The functions of a forward formula that is evaluated for each element of lists of dual tensors."""
    spec, evaluation = function.spec, function.evaluation
    lines, arguments, lists = [], ["dv_found"], []
    for variable in evaluation.variables:
        of = evaluation.tangents.get(variable) or evaluation.primals.get(variable)
        if of is None:
            arguments.append("dv_i" if variable == INDEX else variable)
            continue
        lists.append(of)
        part = "FwGrad" if variable in evaluation.tangents else "Primal"
        lines.append(f"at::Tensor {variable}_in = {_DETAILS}::toNonOpt{part}({of}[dv_i]);")
        if variable in evaluation.tangents:
            # as in the kernels: the tangent of integers is zero
            zero = f"at::_efficientzerotensor_symint({of}[dv_i].sym_sizes(), {of}[dv_i].options())"
            lines.append(f"if (!{variable}_in.defined()) {{ {variable}_in = {zero}; }}")
        arguments.append(f"{variable}_in")
    value = f"{spelled(evaluation.consumer.type)} dv_value;\ndv_value = {_in_yaml(model, function)};"
    name = spec.name
    put = f"{value}\n{LIBRARY}::put(dv_found, dv_value);"
    inner = _inner("torch::autograd::VariableType", name, evaluation.variables, put)
    body = "\n".join((*lines, f"{name}_inner({', '.join(arguments)});"))
    size = f"{(lists or spec.inputs)[0]}.size()"
    return inner + _boxed(function, [], f"for (size_t dv_i = 0; dv_i < {size}; ++dv_i) {{\n{body}\n}}")


def _in_yaml(model: Model, function: FormulaFunction) -> str:
    """Enclose the formula in line directives, so that compiler errors name its line in the YAML."""
    spec = function.spec
    file = yaml_name(model.source.path)
    text = instrumented(function.evaluation.text, spec.sites, spec.number)
    return f'\n#line {spec.line} "{file}"\n{text}\n#line 1 "{spec.name}"\n'


def _inner(scope: str, name: str, variables: dict[str, DeclaredType], body: str) -> str:
    """The function with the variables of a formula as its parameters."""
    parameters = "".join(f", [[maybe_unused]] {type} {variable}" for variable, type in variables.items())
    return (
        f'#line 1 "{name}"\nnamespace {scope} {{\n'
        f"static void {name}_inner({_FOUND}& dv_found{parameters}) {{\n{body}\n}} }}\n"
    )


def _boxed(function: FormulaFunction, lines: list[str], call: str) -> str:
    """The boxed function for the dispatcher; arguments and outputs have the kernel's names."""
    spec = function.spec
    types = formals(function.evaluation.function)
    taken = []
    values = (*spec.arguments, *own_outputs(spec))
    for index, value in enumerate(values, start=2):
        held = holder(value.type)
        taken.append(f"auto {value.name}_held = {LIBRARY}::Holding<{held}>::taken(dv_args[{index}]);")
        taken.append(f"[[maybe_unused]] {types.get(value.name, f'{held}&')} {value.name} = {value.name}_held;")
    count = len(values) + 2
    body = "\n".join((*taken, *lines))
    return (
        "namespace torch::autograd::VariableType {\n"
        f"static void {spec.name}_boxed(std::vector<c10::IValue>& stack) {{\n"
        f"std::vector<c10::IValue> dv_args(stack.end() - {count}, stack.end());\n"
        f"stack.erase(stack.end() - {count}, stack.end());\n"
        f"{_FOUND} dv_found;\n{body}\n{call}\n"
        "stack.emplace_back(std::move(dv_found));\n} }\n"
    )
