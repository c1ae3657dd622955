"""The files for a new operator, and the findings in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from derivlint.authoring.derivation import DerivedOperator, Deriver
from derivlint.authoring.opinfo import opinfo_test
from derivlint.authoring.signature import OperatorSignature, parameter, signature_of
from derivlint.authoring.skeleton import HelperSkeleton, skeleton
from derivlint.cpp.declarations.header import read_declarations
from derivlint.formula import parse_formula
from derivlint.graph.checking import compare
from derivlint.graph.differentiation.entries import Entries
from derivlint.graph.lowering import variables_of
from derivlint.graph.types import GraphError
from derivlint.lint import Diagnostic, Rule
from derivlint.model import Model
from derivlint.project.check import check_source
from derivlint.project.errors import InputError, user_errors
from derivlint.project.headers import merged
from derivlint.project.settings import Settings
from derivlint.schema import NativeFunctions, parse_schema, read_native_functions
from derivlint.source import SourceFile

DERIVATIVES = "derivatives.yaml"
NATIVE_FUNCTIONS = "native_functions.yaml"
HEADER = "FunctionsManual.h"
SOURCE = "FunctionsManual.cpp"
CONFIGURATION = "derivlint.toml"


class OperatorRequest(Struct, frozen=True):
    """A request for the files of an operator.

    Attributes:
        operator: a name or a schema.
        schema: the schema; empty if it follows from the operator or the expression.
        forward: the expression that the operator computes, or empty.
        inline: whether derived gradients are in the entry.
        is_complex: whether gradients are derived for complex numbers.
        has_one_shape: whether all tensors combined in the expression have the same shape.
        non_differentiable: arguments and outputs without gradient.
    """

    operator: str
    schema: str = ""
    forward: str = ""
    inline: bool = False
    is_complex: bool = False
    has_one_shape: bool = False
    non_differentiable: tuple[str, ...] = ()


class NewOperator(Struct, frozen=True):
    """The files of a new operator.

    Attributes:
        name: its name, valid in file names.
        files: the texts by file name.
        is_known: whether PyTorch already has the operator.
        from_book: the operators without an entry in the file, whose derivatives come from the operator book.
    """

    name: str
    files: Mapping[str, str]
    is_known: bool
    from_book: tuple[str, ...] = ()


def new_operator(request: OperatorRequest, natives: NativeFunctions, model: Model | None) -> NewOperator:
    """Create the files of an operator.

    Args:
        request: the request.
        natives: the existing operators.
        model: a file with the entries of the operators that an expression calls; only needed for an expression.

    Raises:
        InputError: the schema or the expression is invalid, or the expression cannot be differentiated.
    """
    text = _schema(request, natives)
    signature = signature_of(text, request.non_differentiable)
    is_known = natives.by_schema(str(signature.schema)) is not None
    if not is_known and natives.operator(str(signature.schema.name)) is not None:
        existing = natives.operator(str(signature.schema.name))
        assert existing is not None
        raise InputError(f'there is an operator "{signature.schema.name}" already: {existing.schema}')
    files: dict[str, str] = {}
    from_book: tuple[str, ...] = ()
    if request.forward:
        assert model is not None
        entries = Entries(model)
        derived = _derived(request, signature, entries)
        from_book = tuple(entries.from_book)
        files[DERIVATIVES] = "\n".join(operator.entry for operator in derived)
        files[NATIVE_FUNCTIONS] = "\n".join(stanza(operator.schema) for operator in derived)
        files[f"{signature.name}.cpp"] = _kernels(derived)
        configuration = _configuration(natives, headers=False, operators=not is_known)
    else:
        has_foreach = bool(natives.with_base(f"_foreach_{signature.schema.name.base}"))
        function = natives.by_schema(str(signature.schema))
        is_method = function is not None and "function" not in function.variants
        entry = skeleton(signature, _taken(natives), has_foreach=has_foreach, is_method=is_method)
        files[DERIVATIVES] = entry.text
        files[NATIVE_FUNCTIONS] = stanza(str(signature.schema))
        files[HEADER] = _header(entry.helpers)
        files[SOURCE] = _source(entry.helpers)
        configuration = _configuration(natives, headers=True, operators=not is_known)
    files[CONFIGURATION] = configuration
    files[f"test_{signature.name}.py"] = opinfo_test(signature)
    return NewOperator(signature.name, files, is_known, from_book)


def findings(
    new: NewOperator, natives: NativeFunctions, settings: Settings, rules: tuple[Rule, ...]
) -> list[Diagnostic]:
    """Check the new entries."""
    if not new.is_known:
        more = read_native_functions((SourceFile(NATIVE_FUNCTIONS, new.files[NATIVE_FUNCTIONS]),))
        declarations, derivatives = natives.declarations, natives.derivatives
        natives = NativeFunctions(
            (*natives.written, *more.written),
            version=natives.version,
            declarations=declarations,
            derivatives=derivatives,
            generator_lists=natives.generator_lists,
            autograd_keys=natives.autograd_keys or more.autograd_keys,
            known_tags=natives.known_tags,
        )
    if HEADER in new.files:
        own = read_declarations(new.files[HEADER]).declarations.to_json()
        parts = [part for part in (natives.declarations, own) if part is not None]
        natives = natives.with_declarations(merged(parts), complete=True)
    source = SourceFile(DERIVATIVES, new.files[DERIVATIVES])
    return list(check_source(source, natives, settings, rules).shown)


def numbers(request: OperatorRequest, model: Model) -> str:
    """Compare first and second derivatives of an expression with PyTorch's, in one line.

    Raises:
        InputError: there is no PyTorch, the expression cannot be run on random numbers, or the numbers differ.
    """
    signature = signature_of(_schema(request, model.natives), request.non_differentiable)
    entries = Entries(model)
    graph = Deriver(entries).graph(request.forward, signature.arguments)
    with user_errors(GraphError):
        comparison = compare(graph, entries, [argument.name for argument in signature.inputs], 2)
    return comparison.removeprefix("# ")


def stanza(schema: str) -> str:
    """Return the operator's entry in native_functions.yaml: one kernel for all devices."""
    name = str(parse_schema(schema).name).replace(".", "_")
    return f"- func: {schema}\n  variants: function\n  dispatch:\n    CompositeExplicitAutograd: {name}\n"


def _schema(request: OperatorRequest, natives: NativeFunctions) -> str:
    """Return the schema of the requested operator."""
    if "(" in request.operator:
        if request.schema:
            raise InputError("OP and --schema both hold a schema; give one")
        return request.operator
    if request.schema:
        name = request.schema.partition("(")[0].strip()
        if name != request.operator:
            raise InputError(f'the schema is that of "{name}", not of "{request.operator}"')
        return request.schema
    native = natives.operator(request.operator)
    if native is not None:
        return str(native.schema)
    if not request.forward:
        raise InputError(
            f'no schema for "{request.operator}"; write "{request.operator}(Tensor self, float alpha=1.0) -> Tensor", '
            'or define the operator: --forward "x * sigmoid(x)"'
        )
    formula = parse_formula(request.forward)
    if formula.problems:
        raise InputError(f'"{request.forward}" cannot be read: {formula.problems[0].message}')
    variables = variables_of(formula)
    if not variables:
        raise InputError(f'"{request.forward}" has no variables')
    return f"{request.operator}({', '.join(f'Tensor {name}' for name in variables)}) -> Tensor"


def _derived(request: OperatorRequest, signature: OperatorSignature, entries: Entries) -> list[DerivedOperator]:
    if len(signature.outputs) != 1:
        raise InputError("an expression has one output")
    constants = [argument.name for argument in signature.integral]
    deriver = Deriver(entries, constants, is_complex=request.is_complex, has_one_shape=request.has_one_shape)
    graph = deriver.graph(request.forward, signature.arguments)
    name = str(signature.schema.name)
    if signature.schema.name.overload and not request.inline:
        raise InputError("the gradient of an overload needs --inline")
    return deriver.operators(name, graph, signature.arguments, request.inline)


def _taken(natives: NativeFunctions) -> frozenset[str]:
    """Return the names of existing functions for formulas."""
    names = {name.partition(".")[0] for name in natives.operator_names()}
    declared: Iterable[str] = (natives.declarations or {}).get("functions", {})
    return frozenset(names.union(*_names(declared)))


def _names(declared: object) -> list[set[str]]:
    """Yield all names in the JSON of declarations, at any depth of namespaces."""
    names: list[set[str]] = [set()]
    if isinstance(declared, Mapping):
        for key, value in declared.items():
            names.append({str(key)})
            names += _names(value)
    return names


def _header(helpers: Sequence[HelperSkeleton]) -> str:
    declarations = "".join(f"// {helper.purpose}\n{helper.declaration};\n" for helper in helpers)
    return (
        "#pragma once\n\n#include <ATen/ATen.h>\n\n"
        f"namespace torch::autograd::generated::details {{\n\n{declarations}\n"
        "} // namespace torch::autograd::generated::details\n"
    )


def _source(helpers: Sequence[HelperSkeleton]) -> str:
    definitions = "\n".join(helper.skeleton for helper in helpers)
    return (
        f"#include <torch/csrc/autograd/{HEADER}>\n\n"
        f"namespace torch::autograd::generated::details {{\n\n{definitions}\n"
        "} // namespace torch::autograd::generated::details\n"
    )


def _kernels(derived: Sequence[DerivedOperator]) -> str:
    """Return the kernels of operators defined by expressions."""
    pieces = []
    for operator in derived:
        parameters = ", ".join(parameter(argument) for argument in parse_schema(operator.schema).arguments.flat_non_out)
        body = "".join(f"  {line}\n" for line in operator.body)
        name = operator.name.replace(".", "_")
        pieces.append(f"at::Tensor {name}({parameters}) {{\n{body}}}\n")
    text = "\n".join(pieces)
    return f"#include <ATen/ATen.h>\n\nnamespace at::native {{\n\n{text}\n}} // namespace at::native\n"


def _configuration(natives: NativeFunctions, *, headers: bool, operators: bool) -> str:
    """Return a configuration for checking the entry in its folder."""
    lines = [f'torch = "{natives.version}"'] if natives.version is not None else []
    if operators:
        lines.append(f'native-functions = ["{NATIVE_FUNCTIONS}"]')
    if headers:
        lines.append(f'headers = ["{HEADER}"]')
    return "".join(f"{line}\n" for line in lines)
