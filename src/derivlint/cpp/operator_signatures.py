"""The C++ functions and methods that PyTorch generates from operator schemas.

Follows torchgen/api/cpp.py and torchgen/api/types/signatures.py, ``CppSignatureGroup``: a plain signature, one with
unpacked tensor options and out arguments last, and both with symbolic sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from derivlint.cpp.bindings import parameter_type
from derivlint.cpp.cpp_type import TENSOR, VOID, CppType, cpp_type, reference_to, template_type
from derivlint.cpp.declarations.declaration import Function, Parameter, unknown_function
from derivlint.cpp.types import return_type
from derivlint.schema import Argument, NativeFunction, NativeFunctions, TensorOptionsArguments
from derivlint.schema.native_function import DEFAULT_NAMESPACE
from derivlint.source.lazy import cached_property

SYMINT = "_symint"


def is_symint(name: str) -> bool:
    """Whether a function has symbolic sizes, judging by its name."""
    return name.endswith(SYMINT)


def without_symint(name: str) -> str:
    """The name of the form without symbolic sizes: ``sum`` of ``sum_symint``."""
    return name.removesuffix(SYMINT)


def with_symint(name: str) -> str:
    """The name of the form with symbolic sizes."""
    return name + SYMINT


def other_form(name: str) -> str:
    """The name of the counterpart with or without symbolic sizes."""
    return without_symint(name) if is_symint(name) else with_symint(name)


def functional(name: str) -> str:
    """Strip the underscore of in-place functions; ``__and__`` is unchanged."""
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def base_name(name: str) -> str:
    """The name of an operator without ``_symint`` and without the underscore of in-place functions."""
    return functional(without_symint(name))


OUT = "_out"
FAITHFUL_OUT = "_outf"
OPTIONS = cpp_type("TensorOptions")
METHOD = "method"
FUNCTION = "function"


class OperatorSignatures:
    """The C++ signatures of all operators, computed on demand."""

    def __init__(self, natives: NativeFunctions) -> None:
        self._natives = natives
        self._functions: dict[str, tuple[Function, ...]] = {}
        self._methods: dict[str, tuple[Function, ...]] = {}

    def functions(self, name: str) -> tuple[Function, ...]:
        """The overloads of ``at::name``; empty if no operator has one."""
        functions = self._functions.get(name)
        if functions is None:
            functions = self._functions[name] = tuple(dict.fromkeys(self._find(name, FUNCTION)))
        return functions

    @cached_property
    def by_namespace(self) -> Mapping[str, Mapping[str, tuple[Function, ...]]]:
        """The functions that emitted code uses for operators of other namespaces, such as ``my_ops::name``.

        Their parameters are in schema order, with symbolic sizes and trailing defaults.
        """
        functions: dict[str, dict[str, list[Function]]] = {}
        for native in self._natives.written:
            if native.namespace != DEFAULT_NAMESPACE:
                named = functions.setdefault(native.namespace, {})
                named.setdefault(native.cpp_name, []).append(_of_other_namespace(native))
        return {
            namespace: {name: tuple(dict.fromkeys(functions)) for name, functions in named.items()}
            for namespace, named in functions.items()
        }

    def methods(self, name: str) -> tuple[Function, ...]:
        """The overloads of the tensor method ``name``; empty if no operator has one."""
        methods = self._methods.get(name)
        if methods is None:
            methods = self._methods[name] = tuple(dict.fromkeys(self._find(name, METHOD)))
        return methods

    def _find(self, name: str, variant: str) -> Iterator[Function]:
        yield from self._overloads(name, name, variant, symint=False, out=None)
        base, suffix = name, None
        for ending in (FAITHFUL_OUT, OUT):
            if variant == FUNCTION and name.endswith(ending):
                base, suffix = name.removesuffix(ending), ending
                yield from self._overloads(name, base, variant, symint=False, out=suffix)
                break
        if is_symint(base):
            yield from self._overloads(name, without_symint(base), variant, symint=True, out=suffix)

    def _overloads(
        self, name: str, operator: str, variant: str, *, symint: bool, out: str | None
    ) -> Iterator[Function]:
        for native in self._natives.named(operator):
            if native.namespace != DEFAULT_NAMESPACE:
                continue
            if variant not in native.variants or native.manual_cpp_binding:
                continue
            if not native.in_cpp_api:
                if out is None and not symint:
                    yield unknown_function(name)
                continue
            schema = native.schema
            if schema.is_out is not (out is not None) or (symint and not schema.has_symint):
                continue
            if out == FAITHFUL_OUT:
                yield _function(name, native, symint=symint, faithful=True)
            else:
                yield _function(name, native, symint=symint, method=variant == METHOD)
                if schema.arguments.tensor_options is not None and out is None:
                    yield _function(name, native, symint=symint, faithful=True, method=variant == METHOD)

    @cached_property
    def function_names(self) -> frozenset[str]:
        """The names of all functions, for suggestions."""
        return frozenset(self._names(FUNCTION))

    @cached_property
    def method_names(self) -> frozenset[str]:
        """The names of all tensor methods, for suggestions."""
        return frozenset(self._names(METHOD))

    def _names(self, variant: str) -> Iterator[str]:
        for native in self._natives.written:
            if variant in native.variants and native.namespace == DEFAULT_NAMESPACE:
                name = native.name.name_without_overload
                yield name
                if "SymInt" in native.func_text:
                    yield with_symint(name)


def _function(
    name: str, native: NativeFunction, *, symint: bool, faithful: bool = False, method: bool = False
) -> Function:
    """The C++ function of an operator.

    Args:
        name: its C++ name.
        native: the operator.
        symint: whether sizes are symbolic.
        faithful: whether parameters are in schema order, with tensor options unpacked and without defaults.
        method: whether ``self`` is the object.
    """
    schema = native.schema
    arguments: list[Argument | TensorOptionsArguments] = [*schema.arguments.non_out]
    out = list(schema.arguments.out)
    arguments = [*arguments, *out] if faithful else [*out, *arguments]
    own = schema.arguments.self_arg if method else None
    parameters: list[Parameter] = []
    for argument in arguments:
        if isinstance(argument, TensorOptionsArguments):
            if faithful:
                parameters.extend(_parameter(item, native, symint=symint, faithful=True) for item in argument.all)
            else:
                # may be omitted if all four default to None, or the dtype has a known default
                defaults = [item.default for item in argument.all]
                has_default = all(default == "None" for default in defaults) or defaults[0] == "long"
                parameters.append(Parameter(OPTIONS, "options", has_default))
        elif argument is not own:
            parameters.append(_parameter(argument, native, symint=symint, faithful=faithful))
    return Function(name, _result(native), tuple(parameters))


def has_defaults(arguments: Sequence[Argument]) -> list[bool]:
    """Whether each parameter has a default in C++, for an operator outside PyTorch's namespace.

    C++ defaults must be trailing; a default list would be a view of destroyed elements.
    """
    flags: list[bool] = []
    for argument in reversed(arguments):
        is_list = argument.type.is_list_like is not None and argument.type.is_nullable
        is_known = argument.default is not None and (not is_list or argument.default == "None")
        flags.append(is_known and all(flags))
    return flags[::-1]


def _of_other_namespace(native: NativeFunction) -> Function:
    arguments = native.schema.arguments.flat_all
    parameters = tuple(
        Parameter(parameter_type(argument, native).canonical, argument.name, has_default)
        for argument, has_default in zip(arguments, has_defaults(arguments), strict=True)
    )
    return Function(native.cpp_name, _result(native), parameters, operators=native.namespace)


def _parameter(argument: Argument, native: NativeFunction, *, symint: bool, faithful: bool) -> Parameter:
    has_default = argument.default is not None and not faithful and argument.name not in native.cpp_no_default_args
    return Parameter(parameter_type(argument, native, symint=symint).canonical, argument.name, has_default)


def _result(native: NativeFunction) -> CppType:
    results = []
    for item in native.schema.returns:
        canonical = return_type(item.type).canonical
        written = item.annotation is not None and item.annotation.is_write
        is_reference = written and canonical is TENSOR and not native.use_const_ref_for_mutable_tensors
        results.append(reference_to(canonical) if is_reference else canonical)
    if not results:
        return VOID
    return results[0] if len(results) == 1 else template_type("tuple", results)
