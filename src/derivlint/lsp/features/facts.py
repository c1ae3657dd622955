"""Facts about a source formula: its variables, and the types, functions and degree of its nodes.

The model types the expression that the generated code evaluates, in which ``self.sym_sizes()`` is a saved variable.
This module maps its facts to the nodes of the source tree.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from derivlint.analysis import analyses_of
from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.cpp import return_names, return_type
from derivlint.cpp.cpp_type import UNKNOWN, CppType
from derivlint.cpp.declarations.declaration import Function
from derivlint.cpp.expressions.calls import held_by
from derivlint.cpp.library import ATEN, FoundCallee, Library, library_of
from derivlint.cpp.lookup import Entity, look_up, qualified_entity
from derivlint.cpp.operator_signatures import without_symint
from derivlint.cpp.scope import BACKWARD_LEVELS, FORWARD_LEVELS, Scope
from derivlint.cpp.types import DeclaredType
from derivlint.formula import Call, Expr, Member, Name
from derivlint.model import DerivativeFormula, Model, Role
from derivlint.model.generated.evaluation import formals
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.generated.gradients import GRAD, GRAD_INPUT_MASK, GRADS, NAMED_PREFIX
from derivlint.model.resolve import EntryFunction, Output
from derivlint.model.scope import ORIGINAL_SELF, RETAIN_VARIABLES
from derivlint.schema import Argument, NativeFunction
from derivlint.schema.syntax.arguments import Return
from derivlint.source.lazy import cached_property


class Callee(Struct, frozen=True):
    """A function that is called.

    Attributes:
        name: its name without namespace.
        node: the name or the member access.
        start: the offset of the name in the formula.
        end: the offset after the name.
        is_method: whether it is a method.
        chosen: the selected overload, or None if it is unknown.
        overloads: all functions of the name, including the selected one.
    """

    name: str
    node: Name | Member
    start: int
    end: int
    is_method: bool
    chosen: Function | None
    overloads: tuple[Function, ...]


class FormulaFacts:
    """Facts about the nodes of one source formula."""

    def __init__(self, model: Model, formula: DerivativeFormula) -> None:
        self.model = model
        self.written = formula

    @property
    def library(self) -> Library:
        """The declarations that formulas can name."""
        return library_of(self.model.natives)

    @cached_property
    def interpretation(self) -> Interpretation | None:
        """The interpretation of the formula, or None."""
        analyses = analyses_of(self.model)
        if self.written.entry not in self.model.entries:
            return None
        return next(
            (analyses.interpretation(f) for f in analyses.formulas(self.written.entry) if f.written is self.written),
            None,
        )

    @cached_property
    def _by_range(self) -> dict[tuple[int, int], Expr]:
        """The outermost typed node of each range of the source formula."""
        nodes: dict[tuple[int, int], Expr] = {}
        interpretation = self.interpretation
        if interpretation is None:
            return nodes
        formula = interpretation.formula
        for node in formula.values:
            written = formula.evaluation.written_range(node.start, node.end)
            if written is not None:
                outer = nodes.get(written)
                if outer is None or outer.end - outer.start < node.end - node.start:
                    nodes[written] = node
        return nodes

    @cached_property
    def variables(self) -> dict[str, DeclaredType]:
        """The C++ types of the names that the formula can use."""
        function = self.written.entry.function
        types: dict[str, DeclaredType] = {}
        if function is not None:
            canonical = function.canonical
            types |= {binding.name: binding.cpp_type for binding in function.arguments}
            types |= formals(canonical)
            for name, item in zip(return_names(canonical), canonical.schema.returns, strict=True):
                types.setdefault(name, return_type(item.type))
        if self.interpretation is not None:
            types |= self.interpretation.formula.evaluation.variables
        return types

    @cached_property
    def scope(self) -> Scope:
        """The scope of the formula."""
        backward = self.written.role is not Role.FORWARD
        return Scope(
            {name: type.value for name, type in self.variables.items()},
            BACKWARD_LEVELS if backward else FORWARD_LEVELS,
            "backward formula" if backward else "forward formula",
        )

    def typed(self, node: Expr) -> Expr | None:
        """Return the typed node for a source node, or None inside a saved expression."""
        return self._by_range.get((node.start, node.end))

    def type_of(self, node: Expr) -> CppType | None:
        """Return the C++ type of an expression, or None if it is unknown."""
        typed = self.typed(node)
        type = UNKNOWN
        if typed is not None and self.interpretation is not None:
            type = self.interpretation.formula.type_of(typed)
        if type is UNKNOWN and isinstance(node, Name) and node.simple in self.variables:
            type = self.variables[node.simple].value.type
        return None if type is UNKNOWN else type

    def degree_of(self, node: Expr) -> Degree | None:
        """Return the degree of an expression in gradients or tangents, or None if it is unknown."""
        typed = self.typed(node)
        if typed is None or self.interpretation is None:
            return None
        fact = self.interpretation.facts.get(typed)
        return None if fact is None or fact.degree is Degree.UNKNOWN else fact.degree

    def callee(self, call: Call) -> Callee | None:
        """Return the callee of a call, or None if it does not call a name."""
        node = call.callee
        typed = self.typed(call)
        chosen = None
        if typed is not None and self.interpretation is not None:
            chosen = self.interpretation.formula.callees.get(typed)
        if isinstance(node, Member):
            overloads = self.methods(node)
            return Callee(node.name, node, node.name_start, node.name_end, True, chosen, _with(chosen, overloads))
        if isinstance(node, Name):
            part = node.parts[-1]
            end = part.start + len(part.identifier)
            overloads = self.functions(node)
            return Callee(part.identifier, node, part.start, end, False, chosen, _with(chosen, overloads))
        return None

    def methods(self, node: Member) -> tuple[Function, ...]:
        """Return the methods that a member access may refer to."""
        owner = self.type_of(node.object)
        return methods_of(self.library, owner, node.name, arrow=node.arrow)

    def functions(self, node: Name) -> tuple[Function, ...]:
        """Return the functions that a called name may refer to."""
        return functions_named(self.library, self.scope, node)

    def entity(self, node: Name) -> Entity:
        """Return the entity that a name refers to, or None for variables."""
        if node.simple is not None:
            return look_up(self.library, self.scope, node.simple)
        return qualified_entity(self.library, self.scope, node)


def functions_named(library: Library, scope: Scope, node: Name) -> tuple[Function, ...]:
    """Return the functions that a called name may refer to, including those found by argument-dependent lookup."""
    if node.simple is None:
        return qualified_entity(library, scope, node).functions.functions
    functions = look_up(library, scope, node.simple).functions.functions
    operators = library.functions(ATEN, node.simple).functions
    return tuple(dict.fromkeys((*functions, *operators)))


def methods_of(library: Library, owner: CppType | None, name: str, *, arrow: bool) -> tuple[Function, ...]:
    """Return the overloads of a method of a class, or with ``->`` of the type that it holds."""
    if owner is None:
        return ()
    callee: FoundCallee | None = library.methods(accessed(owner, arrow=arrow), name)
    return callee.functions if callee is not None else ()


def accessed(owner: CppType, *, arrow: bool) -> CppType:
    """Return the class of an accessed member: ``->`` unwraps optionals and pointers."""
    plain = owner.unreferenced
    return held_by(plain) or plain if arrow else plain


def operators_of(model: Model, callee: Callee) -> tuple[NativeFunction, ...]:
    """Return the operators that a call may refer to, narrowed by the selected overload if it is known."""
    natives = model.natives.named(without_symint(callee.name))
    variant = "method" if callee.is_method else "function"
    fitting = tuple(native for native in natives if variant in native.variants and not native.generated)
    chosen = callee.chosen
    if chosen is None:
        return fitting
    names = [parameter.name for parameter in chosen.parameters]
    exact = tuple(native for native in fitting if _parameter_names(native, method=callee.is_method) == names)
    return exact or fitting


def _parameter_names(native: NativeFunction, *, method: bool) -> list[str]:
    arguments = native.schema.arguments
    own = arguments.self_arg if method else None
    names = [argument.name for argument in arguments.out]
    return [*names, *(getattr(item, "name", "options") for item in arguments.non_out if item is not own)]


def _with(chosen: Function | None, overloads: tuple[Function, ...]) -> tuple[Function, ...]:
    return tuple(dict.fromkeys((chosen, *overloads))) if chosen is not None else overloads


class VariableKind(Enum):
    """The kind of a variable of a formula."""

    ARGUMENT = "argument"
    OUTPUT = "output"
    GRADIENT = "gradient"
    GRADIENTS = "gradients"
    PRIMAL = "primal"
    TANGENT = "tangent"
    GENERATED = "generated"


class Variable(Struct, frozen=True):
    """A variable of a formula.

    Attributes:
        name: its name.
        kind: its kind.
        part: the argument or return of the schema that it belongs to, if any.
        about: a description.
    """

    name: str
    kind: VariableKind
    part: Argument | Return | None
    about: str


def variable(formula: DerivativeFormula, name: str) -> Variable | None:
    """Return the variable that a name in a formula refers to, or None."""
    function = formula.entry.function
    return None if function is None else variable_of(function, name)


def variable_of(function: EntryFunction, name: str) -> Variable | None:
    """Return the variable that a name in the formulas of a function refers to, or None."""
    arguments = function.schema.arguments
    binding = function.argument(name)
    if binding is not None:
        about = f"argument `{binding.argument}`" if binding.argument is not None else "the tensor options, as one"
        return Variable(name, VariableKind.ARGUMENT, binding.argument, about)
    option = arguments.by_name(name)
    if option is not None:
        # kernels have tensor options as separate parameters
        return Variable(name, VariableKind.ARGUMENT, option, f"argument `{option}`")
    for output in function.outputs:
        if output.name == name:
            return Variable(name, VariableKind.OUTPUT, _return(function, output), _output(function, output))
    if name == GRAD:
        part = _return(function, function.outputs[0]) if function.outputs else None
        subject = (
            f"output `{function.outputs[0].name}`" if len(function.outputs) == 1 else "first differentiable output"
        )
        return Variable(name, VariableKind.GRADIENT, part, f"gradient of the {subject}")
    if name == GRADS:
        return Variable(name, VariableKind.GRADIENTS, None, "gradients of the differentiable outputs, in order")
    if name == GRAD_INPUT_MASK:
        about = "which of the arguments in the key need a gradient, in the order of the key"
        return Variable(name, VariableKind.GENERATED, None, about)
    if name == RETAIN_VARIABLES:
        return Variable(name, VariableKind.GENERATED, None, "whether the backward call can run again")
    if name in ORIGINAL_SELF:
        which = "primal" if name.endswith(PRIMAL) else "tangent"
        about = f"{which} of `self` before the in-place call"
        return Variable(name, VariableKind.GENERATED, arguments.self_arg, about)
    for output in function.outputs:
        if output.declared_name is not None and name == NAMED_PREFIX + output.declared_name:
            about = f"gradient of output {output.index}, `{output.declared_name}`"
            return Variable(name, VariableKind.GRADIENT, _return(function, output), about)
    for suffix, kind in ((PRIMAL, VariableKind.PRIMAL), (TANGENT, VariableKind.TANGENT)):
        argument = arguments.by_name(name.removesuffix(suffix)) if name.endswith(suffix) else None
        if argument is not None:
            return Variable(name, kind, argument, f"{kind.value} of `{argument}`")
    return None


def _return(function: EntryFunction, output: Output) -> Return:
    return function.schema.returns[output.index]


def _output(function: EntryFunction, output: Output) -> str:
    which = "the output" if len(function.outputs) == 1 else f"output {output.index}"
    return f"{which}, `{_return(function, output)}`"
