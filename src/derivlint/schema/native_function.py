"""An operator of native_functions.yaml, and the functional and out variants that torchgen generates from it.

Follows torchgen/native_function_generation.py, ``add_generated_native_functions``. Where torchgen raises, nothing is
generated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from derivlint.schema.syntax.arguments import Annotation, Argument, Return
from derivlint.schema.syntax.function_schema import FunctionSchema, SchemaKind
from derivlint.schema.syntax.names import OperatorName
from derivlint.schema.syntax.parser import is_canonical, parse_schema
from derivlint.schema.syntax.types import TENSOR
from derivlint.source import Span
from derivlint.source.lazy import cached_property

COMPOSITE_IMPLICIT = "CompositeImplicitAutograd"
COMPOSITE_IMPLICIT_NESTED = "CompositeImplicitAutogradNestedTensor"
COMPOSITE_EXPLICIT = "CompositeExplicitAutograd"

#: The backends with an autograd key of their own.
BACKENDS = (
    *("CPU", "CUDA", "HIP", "XLA", "MTIA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "Meta"),
    *("PrivateUse1", "PrivateUse2", "PrivateUse3"),
)

#: The keys other than ``Default`` that ``dispatch:`` in derivatives.yaml may use; torchgen/model.py, ``AUTOGRAD_KEYS``.
AUTOGRAD_KEYS = ("AutogradNestedTensor", *(f"Autograd{backend}" for backend in BACKENDS))


DEFAULT_NAMESPACE = "aten"
#: The namespace of operators of a framework other than PyTorch; only their schemas are known.
FRAMEWORK = "framework"
_AUTOGRAD_KEYS = frozenset({"Autograd", *AUTOGRAD_KEYS})

FUNCTION = frozenset({"function"})
NO_TAGS: frozenset[str] = frozenset()

#: Operators that are tagged as views, but that functionalization treats as plain in-place operators.
RESIZES = ("resize_", "resize_as_")


class ViewSchemaKind(Enum):
    """The relation of an operator's returns to its arguments."""

    aliasing = "aliasing"
    aliasing_inplace = "aliasing_inplace"
    non_aliasing = "non_aliasing"


class NativeFunction(Struct, eq=False, dict=True):
    """A native function; compared by identity.

    Follows torchgen/model.py, ``NativeFunction.from_yaml``. Values are not validated: unknown tags, dispatch keys and
    fields are accepted.

    Attributes:
        func_text: the schema as written, without the namespace.
        namespace: ``aten``, or the part before ``::``.
        variants: ``function``, ``method`` or both.
        dispatch: the dispatch keys as written, or None without a dispatch table.
        structured: whether it is the out function to which the others of its group delegate.
        structured_delegate: the name of that function, for the others.
        tags: the tags as written; a generated function has ``generated`` and inherited tags.
        autogen: the names of the variants that torchgen generates from it.
        ufunc: whether CPU and CUDA kernels are generated from an inner loop.
        device_check: ``ExactSame`` or ``NoCheck``.
        in_cpp_api: whether PyTorch's C++ API has a function for it, under PyTorch's rules for names and signatures; a
            back end's own operators follow the back end's.
        has_autograd_kernel: whether a file declares a hand-written autograd kernel for it.
        has_backend_kernel: whether an out-of-tree back end has a kernel of its own for it, so that autograd needs a
            derivative, even of a function that is composite in PyTorch.
        versions: the versions that declare it, in a back end's file for several versions; None for all.
        generated: whether torchgen generates it, so that it is in no file.
        source: path and span of the schema, or None if it comes from an index or is generated.
    """

    func_text: str
    namespace: str = DEFAULT_NAMESPACE
    variants: frozenset[str] = FUNCTION
    dispatch: tuple[str, ...] | None = None
    structured: bool = False
    structured_delegate: str | None = None
    tags: frozenset[str] = NO_TAGS
    autogen: tuple[str, ...] = ()
    ufunc: bool = False
    manual_kernel_registration: bool = False
    manual_cpp_binding: bool = False
    python_module: str | None = None
    category_override: str | None = None
    cpp_no_default_args: frozenset[str] = frozenset()
    device_check: str = "ExactSame"
    device_guard: bool = True
    use_const_ref_for_mutable_tensors: bool = False
    generated_from: NativeFunction | None = None
    source: tuple[str, Span] | None = None
    in_cpp_api: bool = True
    has_backend_kernel: bool = False
    has_autograd_kernel: bool = False
    versions: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.dispatch is not None:
            self.has_autograd_kernel = not _AUTOGRAD_KEYS.isdisjoint(self.dispatch)

    def __repr__(self) -> str:
        return f"NativeFunction({self.func_text!r})"

    def add_versions(self, versions: frozenset[str] | None) -> None:
        """Add versions for which it is declared; None for all."""
        self.versions = None if self.versions is None or versions is None else self.versions | versions

    @cached_property
    def name(self) -> OperatorName:
        """The operator's name; does not parse the schema."""
        return OperatorName.parse(self.func_text.partition("(")[0].strip())

    @cached_property
    def schema(self) -> FunctionSchema:
        """The parsed schema.

        Raises:
            SchemaError: the text is not a schema; never for the functions of a ``NativeFunctions``.
        """
        return parse_schema(self.func_text)

    @cached_property
    def schema_text(self) -> str:
        """The schema in canonical form; parsed only if it is not written so.

        Raises:
            SchemaError: as ``schema`` does.
        """
        return self.func_text if is_canonical(self.func_text) else str(self.schema)

    @cached_property
    def key(self) -> str:
        """The schema, with any namespace but PyTorch's."""
        return str(self.schema) if self.is_of_pytorch else f"{self.namespace}::{self.schema}"

    @property
    def is_of_pytorch(self) -> bool:
        """Whether facts about PyTorch's operators by name apply to it."""
        return self.namespace == DEFAULT_NAMESPACE

    @property
    def cpp_name(self) -> str:
        """The name in the C++ API, ``add_out``; follows torchgen/api/cpp.py, ``name``."""
        name = self.name.name_without_overload
        return f"{name}_out" if self.schema.is_out else name

    @property
    def cpp_name_with_overload(self) -> str:
        """The name of its kernel, ``add_out_Tensor``; follows gen_trace_type.py, ``type_wrapper_name``."""
        return f"{self.cpp_name}_{self.name.overload}" if self.name.overload else self.cpp_name

    @property
    def generated(self) -> bool:
        """Whether torchgen generates it as a variant of another function."""
        return self.generated_from is not None

    @property
    def part_of_structured_group(self) -> bool:
        """Whether it is structured or delegates to a structured function."""
        return self.structured or self.structured_delegate is not None

    @cached_property
    def _dispatch_keys(self) -> frozenset[str]:
        """The dispatch keys with a kernel; without a dispatch table, the implicit composite key.

        Kernels of other namespaces may be registered anywhere (``TORCH_LIBRARY_IMPL``), so their keys are unknown.
        """
        if self.dispatch is not None:
            keys = frozenset(self.dispatch)
        elif self.structured or self.structured_delegate is not None or self.namespace != DEFAULT_NAMESPACE:
            keys = frozenset()
        else:
            keys = frozenset({COMPOSITE_IMPLICIT})
        return keys | {"CPU", "CUDA"} if self.ufunc else keys

    @property
    def is_abstract(self) -> bool:
        """Whether kernels differ between backends, so that autograd needs a derivative or a refusal.

        A generated function is abstract if the original one is.
        """
        if self.generated_from is not None:
            return self.generated_from.is_abstract
        keys = self._dispatch_keys
        is_composite = self.structured_delegate is None and bool(keys) and keys <= _IMPLICIT_KEYS
        return self.has_backend_kernel or not is_composite

    @property
    def has_composite_implicit_autograd_kernel(self) -> bool:
        """Whether it is composed of other operators, which autograd differentiates."""
        return COMPOSITE_IMPLICIT in self._dispatch_keys

    @cached_property
    def is_view_op(self) -> bool:
        """Whether a return is a view of an argument; follows torchgen/model.py, ``NativeFunction.is_view_op``."""
        if "inplace_view" in self.tags and str(self.name) not in RESIZES:
            return True
        if self.func_text.count("(") == 1:
            # A schema without an annotation, which has parentheses of its own, is not a view
            return False
        schema = self.schema
        return any(r.annotation is not None and not r.annotation.is_write for r in schema.returns) or any(
            a.annotation is not None and "*" in a.annotation.alias_set_after for a in schema.arguments.flat_all
        )

    @property
    def view_schema_kind(self) -> ViewSchemaKind:
        """The relation of the returns to the arguments."""
        if not self.is_view_op:
            return ViewSchemaKind.non_aliasing
        return ViewSchemaKind.aliasing_inplace if self.name.inplace else ViewSchemaKind.aliasing

    def arguments_of(self, *types: str) -> frozenset[str]:
        """The names of the arguments of any of the base types, optional or not; without lists and out arguments."""
        arguments = self.schema.arguments.flat_non_out
        return frozenset(
            item.name for item in arguments if item.type.is_list_like is None and str(item.type.base) in types
        )

    @property
    def root_name(self) -> str:
        """The base of the operator's name."""
        return self.name.base


_IMPLICIT_KEYS = frozenset({COMPOSITE_IMPLICIT, COMPOSITE_IMPLICIT_NESTED})


def from_schema(schema: FunctionSchema, origin: NativeFunction, tags: Iterable[str]) -> NativeFunction:
    """Construct a variant that torchgen generates from ``origin``; follows native_function_generation.py."""
    function = NativeFunction(
        str(schema),
        namespace=origin.namespace,
        dispatch=(COMPOSITE_EXPLICIT,),
        tags=frozenset(tags),
        device_check="NoCheck",
        device_guard=False,
        use_const_ref_for_mutable_tensors=origin.use_const_ref_for_mutable_tensors,
        generated_from=origin,
        in_cpp_api=origin.in_cpp_api,
    )
    # a generated schema has no source text to parse, so store it
    function.__dict__["schema"] = schema
    function.__dict__["name"] = schema.name
    return function


#: In-place operators without a functional twin: polygamma takes ``n`` before ``self``.
UNPAIRED_INPLACE = frozenset({"polygamma_"})

#: The names of alias sets, in order; importing the module "string" is slow.
LETTERS = "abcdefghijklmnopqrstuvwxyz"

INHERITED_TAGS = frozenset({"nondeterministic_seeded", "view_copy"})


def generated_variants(group: Mapping[SchemaKind, NativeFunction]) -> list[NativeFunction]:
    """The variants that torchgen adds to a group of functions with one signature: out, then functional."""
    has_out = SchemaKind.out in group
    functions = group.values()
    base = next((group[kind] for kind in _BASE_ORDER if kind in group), None)
    if base is None or (has_out and len(group) == 1):
        return []
    if all(f.manual_cpp_binding for f in functions):
        return []
    # set_ is tagged as an in-place view, but treated as a plain in-place operator
    if any(f.is_view_op and f.name.name_without_overload != "set_" for f in functions):
        return []
    is_core = any("core" in f.tags for f in functions)
    if not is_core and all(f.has_composite_implicit_autograd_kernel for f in functions):
        return []
    if SchemaKind.inplace in group and str(group[SchemaKind.inplace].name) in UNPAIRED_INPLACE:
        return []
    added = []
    # a functional variant is only useful together with an out variant
    if not has_out and any("out" in name for name in base.autogen):
        out = out_variant(base)
        if out is None:
            return []
        added.append(out)
        has_out = True
    if has_out and SchemaKind.functional not in group:
        added.append(functional_variant(base))
    return added


#: The kinds of functions from which variants are generated, by preference.
_BASE_ORDER = (SchemaKind.mutable, SchemaKind.inplace, SchemaKind.out, SchemaKind.functional)


def functional_variant(function: NativeFunction) -> NativeFunction:
    """The functional variant, which returns the values that ``function`` writes to its arguments."""
    schema = function.schema
    name = OperatorName(
        schema.name.base,
        dunder=schema.name.dunder,
        # the mutable and functional forms take the same arguments, so the base name has to differ
        functional_overload=schema.kind is SchemaKind.mutable,
        overload=schema.name.overload,
    )
    return _variant(schema.signature(keep_return_names=True).with_name(name), function)


def out_variant(function: NativeFunction) -> NativeFunction | None:
    """The out variant, or None if there cannot be one."""
    schema = function.schema
    arguments = schema.arguments
    if arguments.out:
        return None
    overload = f"{schema.name.overload}_out" if schema.name.overload else "out"
    name = schema.name.with_overload(overload)
    if schema.kind is SchemaKind.inplace:
        own = arguments.self_arg
        if own is None:
            return None
        arguments = replace(
            arguments,
            self_arg=own.without_annotation(strip_default=False),
            out=(Argument("out", own.type, None, own.annotation),),
        )
        return _variant(FunctionSchema(name, arguments, schema.returns), function)
    outs = _out_arguments(schema)
    if outs is None:
        return None
    returns, out = outs
    if schema.kind is SchemaKind.functional:
        arguments = schema.signature().arguments
    return _variant(FunctionSchema(name, replace(arguments, out=out), returns), function)


def _variant(schema: FunctionSchema, origin: NativeFunction) -> NativeFunction:
    return from_schema(schema, origin, {"generated"} | (origin.tags & INHERITED_TAGS))


def _out_arguments(schema: FunctionSchema) -> tuple[tuple[Return, ...], tuple[Argument, ...]] | None:
    """The returns, and the out arguments that replace a schema's tensor returns.

    The out arguments are also returned if all returns are plain tensors; otherwise only the other returns are.
    """
    returns = schema.returns
    if any(r.is_write for r in returns) or not any(r.type.is_tensor_like for r in returns):
        return None
    used = {alias for a in schema.arguments.flat_all if a.annotation for alias in a.annotation.alias_set}
    free = [letter for letter in LETTERS if letter not in used]
    if len(free) < len(returns):
        return None
    plain = all(r.type == TENSOR for r in returns)
    new_returns: list[Return] = []
    out: list[Argument] = []
    for index, item in enumerate(returns):
        if not item.type.is_tensor_like:
            new_returns.append(item)
            continue
        annotation = Annotation((free[index],), is_write=True)
        out.append(Argument("out" if len(returns) == 1 else f"out{index}", item.type, None, annotation))
        if plain:
            new_returns.append(Return(None, item.type, annotation))
    return tuple(new_returns), tuple(out)
