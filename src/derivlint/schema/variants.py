"""The functional and out variants that PyTorch generates of operators which lack them.

Follows torchgen/native_function_generation.py, ``add_generated_native_functions``. Where torchgen raises, nothing is
generated here.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from derivlint.schema.native_function import NativeFunction, from_schema
from derivlint.schema.syntax.arguments import Annotation, Argument, Return
from derivlint.schema.syntax.function_schema import FunctionSchema, SchemaKind
from derivlint.schema.syntax.names import OperatorName
from derivlint.schema.syntax.types import TENSOR

#: polygamma_ cannot be paired with polygamma, whose ``n`` comes before ``self``.
UNPAIRED_INPLACE = frozenset({"polygamma_"})

#: The names of alias sets, in order; importing the module "string" is slow.
LETTERS = "abcdefghijklmnopqrstuvwxyz"

INHERITED_TAGS = frozenset({"nondeterministic_seeded", "view_copy"})


def generated_variants(group: Mapping[SchemaKind, NativeFunction]) -> list[NativeFunction]:
    """The variants that PyTorch adds to a group of functions with one signature, out before functional."""
    has_out = SchemaKind.out in group
    functions = group.values()
    base = next((group[kind] for kind in _BASE_ORDER if kind in group), None)
    if base is None or (has_out and len(group) == 1):
        return []
    if all(f.manual_cpp_binding for f in functions):
        return []
    # set_ is tagged as an in-place view, but is treated as a plain in-place operator
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
        # the mutable and the functional form take the same arguments: only the base name distinguishes them
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
    """The returns and the out arguments that replace a schema's tensor returns.

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
