"""Types of calls and members: overload resolution, and checks of their use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from derivlint.cpp.canonical import canonical_type
from derivlint.cpp.cpp_type import (
    BRACES,
    DOUBLE,
    FUNCTION,
    LVALUE,
    TENSOR,
    UNKNOWN,
    UNKNOWN_VALUE,
    CppType,
    Value,
    cpp_type,
    template_type,
)
from derivlint.cpp.declarations.declaration import AUTO, Function
from derivlint.cpp.expressions.construction import construct
from derivlint.cpp.expressions.conversion import INTEGERS
from derivlint.cpp.expressions.overloads import Resolution, ResolutionOutcome, resolve
from derivlint.cpp.library import NOTHING, FoundCallee, opaque
from derivlint.cpp.lookup import Entity, EntityKind, look_up
from derivlint.cpp.naming import (
    NAMED_CASTS,
    check_name,
    check_template_arguments,
    entity_of,
    undeclared,
    visible_types,
)
from derivlint.cpp.operator_signatures import is_symint, other_form, without_symint
from derivlint.cpp.problem import TypeProblemKind
from derivlint.cpp.scope import associated_namespaces
from derivlint.formula import Call, Member, Name, Number, TypeName
from derivlint.formula.analysis import GET, position_of, tuple_access

if TYPE_CHECKING:
    from derivlint.cpp.expressions.typer import Typer

POWER = "pow"
TENSOR_BASE = cpp_type("TensorBase")
#: The class templates with ``operator->``.
POINTER_LIKE = frozenset({"optional", "intrusive_ptr", "shared_ptr", "unique_ptr", "MaybeOwned", "OptionalArrayRef"})


def call_value(typer: Typer, node: Call) -> Value:
    """The value of a call, or of a functional cast, which has the same syntax."""
    callee = node.callee
    if isinstance(callee, Name):
        return _named_call(typer, node, callee)
    if isinstance(callee, Member):
        return _method_call(typer, node, callee)
    function = typer.operand(callee)
    for argument in node.args:
        typer.of(argument)
    return _not_callable(typer, node, function)


def _not_callable(typer: Typer, node: Call, value: Value) -> Value:
    if value.is_unknown or not typer.conversions.knows(value.type):
        return UNKNOWN_VALUE
    subject = node.callee.spelling if isinstance(node.callee, Name) else ""
    return typer.report(TypeProblemKind.NOT_CALLABLE, node, actual=(value.type,), subject=subject)


def _named_call(typer: Typer, node: Call, callee: Name) -> Value:
    simple = callee.simple
    arguments = [typer.of(argument) for argument in node.args]
    if simple is not None and (variable := typer.variable(simple)) is not None:
        return _not_callable(typer, node, variable)
    last = callee.parts[-1]
    if not check_name(typer, callee):
        return UNKNOWN_VALUE
    if last.identifier in NAMED_CASTS and last.template_args is not None:
        return _named_cast(typer, node, callee, arguments)
    made = _made(callee, arguments)
    if made is not None:
        return made
    entity = entity_of(typer, callee)
    if entity.kind is EntityKind.AMBIGUOUS:
        return typer.report(TypeProblemKind.AMBIGUOUS_NAME, callee, name=last.identifier)
    if entity.kind is EntityKind.TYPE and entity.type is not None:
        return construct(typer, node, entity.type, arguments)
    if entity.kind is EntityKind.UNKNOWN:
        return UNKNOWN_VALUE
    if entity.kind is EntityKind.VARIABLE:
        return _not_callable(typer, node, Value(entity.type or UNKNOWN))
    named = entity.functions if entity.kind is EntityKind.FUNCTION else NOTHING
    if len(callee.parts) == 1 and not callee.leading_colons:
        namespaces = frozenset().union(*[associated_namespaces(argument.type) for argument in arguments])
        named = typer.library.with_associated(named, last.identifier, namespaces)
    if not named.exists:
        # the associated namespaces of an argument of unknown type are unknown
        some_unknown = any(argument.is_unknown for argument in arguments)
        if some_unknown and simple is not None and _exists_somewhere(typer, simple):
            return UNKNOWN_VALUE
        return _no_function(typer, callee, entity, arguments)
    if last.template_args is not None:
        # std::get is the only call with template arguments that is checked
        access = tuple_access(node)
        return UNKNOWN_VALUE if access is None else _get(typer, node, access[1], arguments[0])
    if last.identifier == GET and len(arguments) == 1 and opaque(named.functions[0]):
        # the index of the element cannot be deduced
        return typer.report(TypeProblemKind.TUPLE_INDEX, callee, name="", actual=(arguments[0].type,))
    return _call(typer, node, callee, named, arguments)


def _exists_somewhere(typer: Typer, name: str) -> bool:
    return any(
        typer.library.functions(namespace, name).exists or typer.library.may_be_function(namespace, name)
        for namespace in ("at", "c10", "std")
    )


def _no_function(typer: Typer, callee: Name, entity: Entity, arguments: Sequence[Value]) -> Value:
    library = typer.library
    part = callee.parts[-1]
    place = (part.start, part.start + len(part.identifier))
    name = part.identifier
    if callee.simple is None:
        return undeclared(typer, callee, entity, TypeProblemKind.NOT_IN_NAMESPACE)
    twin = other_form(name)
    has_twin = look_up(library, typer.scope, twin).functions.exists or library.functions("at", twin).exists
    if has_twin and is_symint(name):
        return typer.report(TypeProblemKind.SUPERFLUOUS_SYMINT, place, name=name, alternative=twin)
    alternative = None
    if library.functions("at", name).exists:
        alternative = f"at::{name}"
    elif arguments and library.methods(arguments[0].type, name) not in (None, NOTHING):
        alternative = f".{name}"
    elif not arguments and (library.methods(TENSOR, name) or NOTHING).functions:
        # "defined()" without its tensor
        alternative = f".{name}"
    is_type = alternative is None and library.resembles_type(name)
    if not (alternative or is_type or typer.scope.is_complete or library.resembles_function(name)):
        return UNKNOWN_VALUE
    return typer.report(
        TypeProblemKind.UNDECLARED_FUNCTION,
        place,
        name=name,
        alternative=alternative,
        owner=typer.scope.name,
        visible_names=visible_types(typer) if is_type else library.visible_functions(typer.scope.levels),
    )


def _call(typer: Typer, node: Call, callee: Name | Member, named: FoundCallee, arguments: list[Value]) -> Value:
    name = callee.name if isinstance(callee, Member) else callee.parts[-1].identifier
    if len(named.functions) == 1:
        typer.callees[node] = named.functions[0]
    if not named.complete:
        results = {function.result for function in named.functions if not opaque(function)}
        return (
            value_of_type(results.pop())
            if len(results) == 1 and not any(map(opaque, named.functions))
            else UNKNOWN_VALUE
        )
    resolution = resolve(typer.conversions, named.functions, arguments)
    if resolution.function is not None:
        typer.callees[node] = resolution.function
        _note(typer, node, callee, name, resolution.function, arguments)
    if resolution.outcome in (ResolutionOutcome.CHOSEN, ResolutionOutcome.UNSURE):
        return value_of_type(resolution.result)
    _refused(typer, node, callee, name, resolution, arguments)
    # one error, one problem: the result of a wrong call is unknown
    return UNKNOWN_VALUE


def _note(
    typer: Typer,
    node: Call,
    callee: Name | Member,
    name: str,
    function: Function,
    arguments: Sequence[Value],
) -> None:
    """Report a call that compiles but is probably unintended."""
    if function.deprecated is not None:
        start = callee.name_start if isinstance(callee, Member) else callee.start
        place = (start, callee.end)
        typer.report(TypeProblemKind.DEPRECATED, place, name=name, alternative=function.deprecated)
    if name == POWER and len(arguments) == 2 and not isinstance(callee, Member):
        base, exponent = arguments
        if base.type in INTEGERS and exponent.type is TENSOR:
            typer.report(TypeProblemKind.INTEGER_BASE, node.args[0], actual=(base.type, exponent.type))


@lru_cache(maxsize=2048)
def value_of_type(result: CppType) -> Value:
    """The value of a call with this return type."""
    if result in (AUTO, TENSOR_BASE):
        # a temporary TensorBase converts to a tensor but a variable does not, which the table of types cannot express
        return UNKNOWN_VALUE
    return Value(result) if result.referred is None else Value(result.referred, LVALUE)


def _refused(
    typer: Typer,
    node: Call,
    callee: Name | Member,
    name: str,
    resolution: Resolution,
    arguments: list[Value],
) -> None:
    argument_types = tuple(argument.type for argument in arguments)
    facts = {"name": name, "actual": argument_types, "candidates": resolution.considered}
    start = callee.name_start if isinstance(callee, Member) else callee.start
    place = (start, node.end)
    if resolution.outcome is ResolutionOutcome.COUNT:
        typer.report(TypeProblemKind.ARGUMENT_COUNT, place, **facts)
        return
    if resolution.outcome is ResolutionOutcome.AMBIGUOUS:
        typer.report(TypeProblemKind.AMBIGUOUS_CALL, place, **facts)
        return
    # the counterpart of an operator with or without symbolic sizes
    form = other_form(name)
    if isinstance(callee, Member):
        twin = typer.library.methods(typer.found.get(callee.object, UNKNOWN_VALUE).type, form) or NOTHING
    else:
        twin = typer.library.functions("at", form)
    # C++ converts a fraction to a size, which is never intended
    is_fraction = resolution.blamed is not None and argument_types[resolution.blamed] is DOUBLE
    if twin.exists and twin.complete and not is_fraction:
        twin_resolution = resolve(typer.conversions, twin.functions, arguments)
        if twin_resolution.outcome is ResolutionOutcome.CHOSEN:
            kind = TypeProblemKind.SUPERFLUOUS_SYMINT if is_symint(name) else TypeProblemKind.MISSING_SYMINT
            last = node.args[resolution.blamed].end if resolution.blamed is not None else node.end
            typer.report(kind, (start, last), alternative=form, **facts)
            return
    if resolution.blamed is None:
        typer.report(TypeProblemKind.NO_OVERLOAD, place, **facts)
        return
    blamed = resolution.blamed
    if argument_types[blamed] is FUNCTION:
        argument = node.args[blamed]
        subject = argument.spelling if isinstance(argument, Name) else ""
        typer.report(TypeProblemKind.NOT_CALLED, argument, name=subject)
        return
    parameters = {
        function.parameters[blamed].name for function in resolution.considered if blamed < len(function.parameters)
    }
    argument = node.args[blamed]
    is_only = resolution.tried == 1 or all(len(function.parameters) == 1 for function in resolution.considered)
    typer.report(
        TypeProblemKind.ARGUMENT_TYPE,
        # with several overloads the wrong function may be called, unless all take one argument
        argument if is_only else (start, argument.end),
        expected=resolution.expected,
        argument=blamed,
        subject=argument.spelling if isinstance(argument, Name) else "",
        parameter=parameters.pop() if len(parameters) == 1 else "",
        **facts,
    )


# ---- called templates


def _made(callee: Name, arguments: Sequence[Value]) -> Value | None:
    """The result types of standard library functions and class templates with deduced arguments."""
    if callee.parts[0].identifier not in ("std", "c10") or any(
        argument.type in (UNKNOWN, BRACES) for argument in arguments
    ):
        return None
    name = callee.spelling.removeprefix("::")
    if name in ("std::make_tuple", "std::tuple") and arguments:
        return Value(template_type("tuple", (argument.type for argument in arguments)))
    if name in ("std::optional", "c10::optional") and len(arguments) == 1 and arguments[0].type.head == "optional":
        return Value(arguments[0].type)
    if name in ("std::make_optional", "std::optional", "c10::optional") and len(arguments) == 1:
        return Value(template_type("optional", [arguments[0].type]))
    if name == "std::move" and len(arguments) == 1:
        return Value(arguments[0].type)
    return None


def _get(typer: Typer, node: Call, index: Number | TypeName, value: Value) -> Value:
    """The value of ``std::get<i>(tuple)``."""
    if value.is_unknown or not typer.conversions.knows(value.type):
        return UNKNOWN_VALUE
    head, elements = value.type.head, value.type.arguments
    place = (node.start, node.end)
    if head not in ("array", "tuple", "pair"):
        return typer.report(TypeProblemKind.TUPLE_INDEX, place, actual=(value.type,))
    if isinstance(index, TypeName):
        element = canonical_type(index.spelling)
        if element is None:
            return typer.report(TypeProblemKind.TUPLE_INDEX, index, name=index.spelling, actual=(value.type,))
        # std::get by an ambiguous type is an error, but compilers disagree about when
        return Value(element) if head != "array" and elements.count(element) == 1 else UNKNOWN_VALUE
    position = position_of(index)
    length = len(elements) if head != "array" else value.type.size or 0
    if position is None or position >= length:
        return typer.report(
            TypeProblemKind.TUPLE_INDEX, (index.start, index.end), name=index.text, actual=(value.type,)
        )
    return Value(elements[0 if head == "array" else position], value.category)


def _named_cast(typer: Typer, node: Call, callee: Name, arguments: list[Value]) -> Value:
    """The value of ``static_cast<T>(x)`` and the other named casts."""
    template_args = callee.parts[-1].template_args or ()
    if len(template_args) != 1 or not isinstance(template_args[0], TypeName) or len(arguments) != 1:
        return UNKNOWN_VALUE
    type = typer.library.type_named(template_args[0].spelling)
    if type is None:
        return UNKNOWN_VALUE
    value = arguments[0]
    if callee.parts[-1].identifier == "static_cast":
        return construct(typer, node, type, arguments)
    if callee.parts[-1].identifier == "const_cast" and not value.is_unknown and typer.conversions.knows(value.type):
        if type.unreferenced is not value.type:
            facts: dict[str, Any] = {"name": type.text, "actual": (value.type,)}
            return typer.report(TypeProblemKind.CONSTRUCTION, node, **facts)
        return Value(value.type, LVALUE)
    return UNKNOWN_VALUE


# ---- members


def member_value(typer: Typer, node: Member) -> Value:
    """The value of an uncalled member: a field, or a method without its parentheses."""
    owner = _owner(typer, node)
    if owner is None:
        return UNKNOWN_VALUE
    members = typer.library.members(owner)
    if members is None:
        return UNKNOWN_VALUE
    field = members.fields.get(node.name)
    if field is not None:
        return value_of_type(field)
    methods = typer.library.methods(owner, node.name)
    if methods is None:
        return UNKNOWN_VALUE
    place = (node.name_start, node.name_end)
    if methods.exists:
        return typer.report(TypeProblemKind.NOT_CALLED, place, name=node.name, object=owner)
    return _no_member(typer, node, owner)


def _owner(typer: Typer, node: Member) -> CppType | None:
    """The class of an accessed member, or None if it is unknown or the access is wrong."""
    value = typer.operand(node.object)
    if value.is_unknown:
        return None
    type = value.type
    place = (node.object.end, node.name_start)
    if not node.arrow:
        if type.pointee is not None:
            typer.report(TypeProblemKind.WRONG_ACCESS, place, name=".", object=type)
            return None
        return type
    held = held_by(type)
    if held is None and typer.conversions.knows(type):
        typer.report(TypeProblemKind.WRONG_ACCESS, place, name="->", object=type)
    return held


def held_by(type: CppType) -> CppType | None:
    """The type that ``->`` accesses through a pointer or a pointer-like class; None for other types."""
    if type.pointee is not None or type.head not in POINTER_LIKE or not type.arguments:
        return type.pointee
    return template_type("ArrayRef", type.arguments[:1]) if type.head == "OptionalArrayRef" else type.arguments[0]


def _no_member(typer: Typer, node: Member, owner: CppType) -> Value:
    place = (node.name_start, node.name_end)
    library = typer.library
    inner = owner.arguments[0] if owner.head == "optional" and owner.arguments else None
    if inner is not None and (library.methods(inner, node.name) or NOTHING).exists:
        return typer.report(TypeProblemKind.MEMBER_OF_OPTIONAL, place, name=node.name, object=owner)
    if is_symint(node.name):
        plain = without_symint(node.name)
        if (library.methods(owner, plain) or NOTHING).exists:
            return typer.report(
                TypeProblemKind.SUPERFLUOUS_SYMINT, place, name=node.name, object=owner, alternative=plain
            )
    alternative = None
    if look_up(library, typer.scope, node.name).functions.exists:
        alternative = node.name
    elif library.functions("at", node.name).exists:
        alternative = f"at::{node.name}"
    return typer.report(
        TypeProblemKind.NO_SUCH_MEMBER,
        place,
        name=node.name,
        object=owner,
        alternative=alternative,
        visible_names=library.method_names(owner),
    )


def _method_call(typer: Typer, node: Call, callee: Member) -> Value:
    owner = _owner(typer, callee)
    arguments = [typer.of(argument) for argument in node.args]
    if owner is None:
        return UNKNOWN_VALUE
    methods = typer.library.methods(owner, callee.name)
    if methods is None:
        return UNKNOWN_VALUE
    if not methods.exists:
        members = typer.library.members(owner)
        if members is not None and callee.name in members.fields:
            return _not_callable(typer, node, Value(members.fields[callee.name]))
        return _no_member(typer, callee, owner)
    if callee.template_args is not None:
        return _template_method(typer, callee)
    return _call(typer, node, callee, methods, arguments)


def _template_method(typer: Typer, callee: Member) -> Value:
    """The value of ``x.item<double>()``: the template argument is the return type."""
    template_args = callee.template_args or ()
    if not check_template_arguments(typer, template_args):
        return UNKNOWN_VALUE
    if callee.name in ("item", "to") and len(template_args) == 1 and isinstance(template_args[0], TypeName):
        type = typer.library.type_named(template_args[0].spelling)
        if type is not None:
            return Value(type)
    return UNKNOWN_VALUE
