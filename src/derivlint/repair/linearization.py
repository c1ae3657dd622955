"""Tangents of reference definitions, as formulas: forward mode over syntax trees.

A graph knows each choice and each size before it is built; a formula has to hold for all of them, so that conditions,
optional arguments and sizes stay expressions here. What a definition calls is linear in its tangents, a helper or
a part with a definition of its own, or an operator with a forward formula of the file or of the operator book.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace

from derivlint.cpp.operator_signatures import functional, with_symint, without_symint
from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Conditional,
    Expr,
    Member,
    Name,
    Number,
    String,
    Unary,
    parse_formula,
)
from derivlint.formula.analysis import Analysis, position_of, tuple_access
from derivlint.formula.edits import ATOM, BINARY, COMPARISON, UNARY, Text, enclosed
from derivlint.graph.differentiation.entries import Entries
from derivlint.graph.types import GraphError
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.operators import Book
from derivlint.operators.reference.definitions import Definition, definitions, helper_named, tree_of
from derivlint.operators.reference.derived import derived
from derivlint.operators.reference.terms import polynomials
from derivlint.repair.dual_text import (
    ABSENT,
    TRUTHS,
    TWO,
    ZERO,
    DualText,
    RefusedCaseError,
    TangentText,
    UnsupportedError,
    as_optional,
    default_value,
)
from derivlint.schema import NativeFunction, OptionalType

#: Methods that read no element of a tensor, and the form that knows symbolic sizes.
_METADATA = {
    "size": "sym_size", "sizes": "sym_sizes", "numel": "sym_numel", "dim": "dim", "options": "options",
    "scalar_type": "scalar_type", "is_complex": "is_complex", "defined": "defined", "has_value": "has_value",
}  # fmt: skip
#: Helpers of FunctionsManual.h that are linear in their first argument and mean the same in definitions.
_KEPT = frozenset({"apply_loss_reduction", "maybe_multiply"})
#: Operators whose values do not depend on those of their arguments.
_CONSTANT = frozenset[str]().union(*map(Book.by_hand, ("compares", "answers", "zero", "like-first"))) - {"fill", "copy"}
_CONJUGATES = frozenset({"conj", "resolve_conj"})
MAX_DEPTH = 12
MAX_LENGTH = 2000


class Linearizer:
    """Writes tangents of definitions.

    Attributes:
        entries: the forward formulas of the operators that definitions call.
        names: the names of values that the kernel has computed already, by their expressions.
        is_complex: whether tensors may be complex, so that conjugates count.
    """

    def __init__(self, entries: Entries, names: Mapping[str, str] | None = None, *, is_complex: bool = False) -> None:
        self.entries = entries
        self.is_complex = is_complex
        self.names = dict(names or {})
        self.depth = 0

    def of(self, definition: Definition, arguments: Mapping[str, DualText]) -> DualText:
        """The value of a definition for arguments by name; those that are missing have their defaults.

        Raises:
            UnsupportedError: it has no tangent as a formula.
        """
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                raise UnsupportedError(f'"{definition.name}" calls itself')
            values = dict.fromkeys(definition.parameters, ABSENT)
            for name, text in definition.defaults.items():
                values[name] = _Linearization(self, {}).of(tree_of(text))
            values.update(arguments)
            run = _Linearization(self, values)
            for part, tree in definition.trees:
                values[part] = run.of(tree)
            return values[""]
        finally:
            self.depth -= 1

    def formula(self, text: str, names: Mapping[str, DualText]) -> Text | None:
        """The value of a formula that is a tangent already, with expressions for its names; None if it is zero."""
        tree = parse_formula(text).tree
        if tree is None:
            raise UnsupportedError(f'"{text}" cannot be read')
        return _Substitution(self, names).of(tree).tangent

    def made(self, text: str, precedence: int = ATOM) -> Text:
        """An expression, by its name if the kernel has it."""
        if len(text) > MAX_LENGTH:
            raise UnsupportedError("a derived formula is longer than anybody reads")
        name = self.names.get(text)
        return (text, precedence) if name is None else (name, ATOM)


def _present(value: DualText) -> Text:
    if value.primal is None:
        raise UnsupportedError("an absent value is used")
    return value.primal


class _Linearization(Analysis[DualText], TangentText):
    """Evaluates an expression over dual values."""

    def __init__(self, linearizer: Linearizer, values: Mapping[str, DualText]) -> None:
        super().__init__()
        self._linearizer = linearizer
        self._made = linearizer.made
        self._values = values

    def otherwise(self, node: Expr) -> DualText:
        raise UnsupportedError(f"a {type(node).__name__.lower()} in a definition is not followed")

    def name(self, node: Name) -> DualText:
        if node.simple is not None and node.simple in self._values:
            return self._values[node.simple]
        if node.spelling in ("nullopt", "std::nullopt", "::std::nullopt"):
            return ABSENT
        return DualText((node.spelling, ATOM))

    def number(self, node: Number) -> DualText:
        return DualText((node.text, ATOM), is_number=True)

    def string(self, node: String) -> DualText:
        return DualText((node.text, ATOM))

    def unary(self, node: Unary) -> DualText:
        operand = self.of(node.operand)
        text = _present(operand)
        if node.op == "!" and text[0] in TRUTHS:
            return DualText((TRUTHS[text[0]], ATOM))
        tangent = None if operand.tangent is None or node.op == "!" else self._negative(operand.tangent)
        return DualText(self._made(node.op + enclosed(text, UNARY), UNARY), tangent, symbolic=operand.symbolic)

    def binary(self, node: Binary) -> DualText:
        left, right = self.of(node.left), self.of(node.right)
        if node.op in ("&&", "||"):
            return self._logical(node.op, left, right)
        is_number = all(side.is_scalar or side.is_number for side in (left, right))
        if is_number:
            left, right = self._as_number(left), self._as_number(right)
        primal = self._binary(node.op, _present(left), _present(right))
        tangent, symbolic = self._tangent_of(node.op, left, right), left.symbolic or right.symbolic
        return DualText(primal, tangent, symbolic=symbolic, is_number=is_number)

    def _as_number(self, value: DualText) -> DualText:
        if not value.is_scalar or value.primal is None:
            return value
        return DualText(self._made(f"{value.primal[0]}.toDouble()"), is_number=True)

    def _logical(self, op: str, left: DualText, right: DualText) -> DualText:
        decided = "true" if op == "||" else "false"
        assert left.primal is not None
        assert right.primal is not None
        if decided in (left.primal[0], right.primal[0]):
            return DualText((decided, ATOM))
        if left.primal[0] in TRUTHS:
            return right
        return left if right.primal[0] in TRUTHS else DualText(self._binary(op, left.primal, right.primal))

    def _tangent_of(self, op: str, left: DualText, right: DualText) -> Text | None:
        """The tangent of two operands; both have primals."""
        x, y, dx, dy = left.primal, right.primal, left.tangent, right.tangent
        assert x is not None
        assert y is not None
        if op == "+":
            return self.sum(dx, dy)
        if op == "-":
            return self.sum(dx, None if dy is None else self._negative(dy))
        if op == "*":
            return self.sum(self._times(dx, y), self._times(dy, x))
        if op == "/":
            first = None if dx is None else self._binary("/", dx, y)
            if dy is None:
                return first
            quotient = self._binary("/", x, self._binary("*", y, y))
            return self.sum(first, self._negative(self._binary("*", dy, quotient)))
        if (dx is not None or dy is not None) and BINARY.get(op) != COMPARISON:
            raise UnsupportedError(f'the tangent of "{op}" is not known')
        return None

    def conditional(self, node: Conditional) -> DualText:
        condition = _present(self.of(node.condition))
        if condition[0] in TRUTHS:
            return self.of(node.then if condition[0] == "true" else node.otherwise)
        branches: list[DualText | None] = []
        error: UnsupportedError | None = None
        for branch in (node.then, node.otherwise):
            try:
                branches.append(self.of(branch))
            except RefusedCaseError as refusal:
                error = refusal
                branches.append(None)
        then, otherwise = branches
        if then is None or otherwise is None:
            remaining = then or otherwise
            if remaining is None:
                assert error is not None
                raise error
            opposite = self._made("!" + enclosed(condition, UNARY), UNARY)
            return self._refusing(condition if then is None else opposite, remaining)
        return self._chosen(condition, then, otherwise)

    def _refusing(self, condition: Text, value: DualText) -> DualText:
        """Make the tangent of a value raise in a case that the definition rejects."""
        if value.items is not None:
            return DualText(value.primal, items=tuple(self._refusing(condition, item) for item in value.items))
        if value.tangent is None:
            return value
        refusal = 'not_implemented("the tangent of this case")', ATOM
        return DualText(value.primal, self._choice(condition, refusal, value.tangent), symbolic=value.symbolic)

    def _chosen(self, condition: Text, then: DualText, otherwise: DualText) -> DualText:
        if then.items is not None and otherwise.items is not None and len(then.items) == len(otherwise.items):
            pairs = zip(then.items, otherwise.items, strict=True)
            return DualText(None, items=tuple(self._chosen(condition, *pair) for pair in pairs))
        if then.primal is None or otherwise.primal is None:
            then, otherwise = (
                DualText(("Tensor()", ATOM)) if value.primal is None else value for value in (then, otherwise)
            )
        assert then.primal is not None
        assert otherwise.primal is not None
        primal = self._choice(condition, then.primal, otherwise.primal)
        if then.tangent is None and otherwise.tangent is None:
            return DualText(primal)
        moved = [value.tangent or self._zeros(value.primal) for value in (then, otherwise)]
        tangent = moved[0] if moved[0] == moved[1] else self._choice(condition, *moved)
        return DualText(primal, tangent, symbolic=then.symbolic or otherwise.symbolic)

    def braces(self, node: BraceList) -> DualText:
        items = tuple(map(self.of, node.items))
        text = "{" + ", ".join(_present(item)[0] for item in items) + "}"
        return DualText(self._made(text), items=items, symbolic=any(item.symbolic for item in items))

    def call(self, node: Call) -> DualText:
        access = tuple_access(node)
        if access is not None:
            return self._accessed(self.of(access[0]), position_of(access[1]))
        callee = node.callee
        arguments = list(map(self.of, node.args))
        if isinstance(callee, Member):
            held = self.of(callee.object)
            if callee.name == "toDouble" and held.is_number:
                return held
            return self._called(callee.name, [held, *arguments], is_method=True)
        if not isinstance(callee, Name):
            raise UnsupportedError("a call of an expression is not followed")
        return self._called(callee.parts[-1].identifier, arguments, is_method=False)

    def _accessed(self, held: DualText, place: int | None) -> DualText:
        """An item of a tuple."""
        if held.items is None or place is None or place >= len(held.items):
            raise UnsupportedError("an item of a result is not known")
        return held.items[place]

    def _called(self, name: str, arguments: list[DualText], *, is_method: bool) -> DualText:
        if name == "refuse":
            raise RefusedCaseError("its definition refuses this case")
        if name in ("make_tuple",):
            return DualText(None, items=tuple(arguments))
        if name in ("defined", "has_value") and not arguments[0].may_be_absent:
            return DualText(("false" if arguments[0].primal is None else "true", ATOM))
        if name == "value_or":
            return arguments[1] if arguments[0].primal is None else self._metadata(name, arguments)
        if name == "Tensor" and not arguments:
            return ABSENT
        if name == "is_complex_tensor" and self._linearizer.is_complex:
            raise UnsupportedError("its definition differs for complex tensors")
        if name in ("is_complex_tensor", "is_number"):
            return DualText(("false", ATOM))
        if name == "handle_r_to_c" or (name in _CONJUGATES and not self._linearizer.is_complex):
            return arguments[-1]
        if is_method and name in _METADATA and arguments[0].items is None:
            return self._metadata(name, arguments)
        if name in self._PRIMITIVES:
            return self._PRIMITIVES[name](self, *arguments)
        definition = helper_named(name)
        if definition is not None and name not in _KEPT:
            return self._linearizer.of(definition, dict(zip(definition.parameters, arguments, strict=False)))
        return self._operator(name, arguments, is_method=is_method)

    def _metadata(self, name: str, arguments: list[DualText]) -> DualText:
        held, *rest = arguments
        texts = ", ".join(argument.primal[0] for argument in rest if argument.primal is not None)
        text = self._made(f"{enclosed(_present(held), ATOM)}.{_METADATA.get(name, name)}({texts})")
        return DualText(text, symbolic=name in ("size", "sizes", "numel"))

    # ---- primitives of definitions

    def _sum_over(self, tensor: DualText, dims: DualText = ABSENT, keepdim: DualText = ABSENT) -> DualText:
        """The sum, over all dimensions where none are named."""
        return self._linear("sum", [tensor, dims, keepdim])

    def _mean_over(self, tensor: DualText, dims: DualText = ABSENT) -> DualText:
        """The mean with the dimensions kept."""
        return self._linear("mean", [tensor, dims, DualText(("/*keepdim=*/true", ATOM))])

    def _halves(self, tensor: DualText, dim: DualText) -> DualText:
        """Both halves along a dimension."""
        return DualText(
            None, items=tuple(self._accessed_by(f"[{at}]", self._linear("chunk", [tensor, TWO, dim])) for at in (0, 1))
        )

    def _accessed_by(self, suffix: str, held: DualText) -> DualText:
        """A member or element of a value, and of its tangent."""
        primal, tangent = (
            None if text is None else self._made(f"{enclosed(text, ATOM)}{suffix}")
            for text in (held.primal, held.tangent)
        )
        return DualText(primal, tangent)

    def _zeros_like(self, like: DualText, *_: DualText) -> DualText:
        return DualText(self._zeros(like.primal))

    def _last_given(self, first: DualText, second: DualText = ABSENT) -> DualText:
        """The second value, or the first where there is none."""
        return first if second.primal is None else second

    def _equal(self, value: DualText, number: DualText) -> DualText:
        """Whether two values are equal."""
        assert value.primal is not None
        assert number.primal is not None
        return DualText(self._binary("==", value.primal, number.primal))

    _PRIMITIVES: ClassVar[dict[str, Callable[..., DualText]]] = {
        "sum_over": _sum_over,
        "mean_over": _mean_over,
        "halves": _halves,
        "zeros_like": _zeros_like,
        "last_given": _last_given,
        "equal": _equal,
    }

    def _linear(self, name: str, arguments: list[DualText]) -> DualText:
        """A method that is linear in what it is called on."""
        held, *rest = arguments
        texts = ", ".join(argument.primal[0] for argument in rest if argument.primal is not None)
        symbol = with_symint(name) if any(argument.symbolic for argument in rest) else name
        return self._accessed_by(f".{symbol}({texts})", held)

    # ---- operators

    def _operator(self, name: str, arguments: list[DualText], *, is_method: bool) -> DualText:
        while arguments and arguments[-1].primal is None and arguments[-1].items is None:
            arguments.pop()
        primal = self._written(name, arguments, is_method=is_method)
        if not any(argument.is_moving for argument in arguments):
            return self._results(name, arguments, primal)
        if name in _KEPT and not any(argument.is_moving for argument in arguments[1:]):
            operands = [DualText(arguments[0].tangent), *arguments[1:]]
            return DualText(primal, self._written(name, operands, is_method=is_method))
        if name in _CONSTANT:
            return DualText(primal)
        function = self._function(functional(without_symint(name)), arguments)
        return self._tangents(function, name, arguments, primal, is_method=is_method)

    def _results(self, name: str, arguments: Sequence[DualText], primal: Text) -> DualText:
        """The results of a call without tangents."""
        try:
            count = len(self._function(functional(without_symint(name)), arguments).schema.returns)
        except UnsupportedError:
            count = 1
        items = tuple(DualText(self._made(f"std::get<{place}>({primal[0]})")) for place in range(count))
        return DualText(primal, items=items if count > 1 else None)

    def _written(self, name: str, arguments: Sequence[DualText], *, is_method: bool) -> Text:
        texts = self._arguments(name, arguments)
        if any(argument.symbolic for argument in arguments):
            if self._has_symint(name):
                name = with_symint(name)
            else:
                texts = [(text.replace(".sym_", "."), precedence) for text, precedence in texts]
        if is_method:
            held, *rest = texts
            return self._made(f"{enclosed(held, ATOM)}.{name}({', '.join(text for text, _ in rest)})")
        namespace = "" if name in _KEPT else "at::"
        return self._made(f"{namespace}{name}({', '.join(text for text, _ in texts)})")

    def _arguments(self, name: str, arguments: Sequence[DualText]) -> list[Text]:
        """The texts of arguments; those of optional parameters are optional values."""
        texts = [argument.passed for argument in arguments]
        undefined = [
            place
            for place, argument in enumerate(arguments)
            if argument.may_be_absent and texts[place][0].endswith((PRIMAL, TANGENT))
        ]
        if undefined:
            parameters = self._function(functional(without_symint(name)), arguments).schema.arguments.flat_non_out
            for place in undefined:
                if isinstance(parameters[place].type, OptionalType):
                    texts[place] = as_optional(texts[place][0], name)
        return texts

    def _has_symint(self, name: str) -> bool:
        return any(function.schema.has_symint for function in self._linearizer.entries.operators.natives.named(name))

    def _function(self, name: str, arguments: Sequence[DualText]) -> NativeFunction:
        """The overload that a call is of, as far as its arguments say it."""
        candidates: list[tuple[int, NativeFunction]] = []
        for function in self._linearizer.entries.operators.overloads(name):
            parameters = function.schema.arguments.flat_non_out
            required = sum(parameter.default is None for parameter in parameters)
            if not required <= len(arguments) <= len(parameters):
                continue
            pairs = list(zip(parameters, arguments, strict=False))
            if any(item.is_moving and not parameter.type.is_tensor_like for parameter, item in pairs):
                continue
            misfits = sum(
                parameter.type.is_tensor_like != (item.is_moving or not item.is_plain) for parameter, item in pairs
            )
            candidates.append((misfits, function))
        if not candidates:
            raise UnsupportedError(f'"{name}" in its definition cannot be written as a formula')
        return min(candidates, key=lambda candidate: candidate[0])[1]

    def _tangents(
        self, function: NativeFunction, name: str, arguments: list[DualText], primal: Text, *, is_method: bool
    ) -> DualText:
        entries = self._linearizer.entries
        linear = name in polynomials() and all(
            term.factors == (polynomials()[name].parameters[0],) for term in polynomials()[name].terms
        )
        if linear and arguments[0].tangent is not None and not any(item.is_moving for item in arguments[1:]):
            operands = [DualText(arguments[0].tangent), *arguments[1:]]
            return DualText(primal, self._written(name, operands, is_method=is_method))
        product = self._product(name, arguments, is_method=is_method)
        if product is not None:
            return DualText(primal, product)
        try:
            if entries.is_decomposed(function):
                definition = definitions().get(str(function.name)) or definitions()[function.name.base]
                return self._linearizer.of(definition, dict(zip(definition.parameters, arguments, strict=False)))
            forwards = entries.forwards(function)
        except (GraphError, KeyError) as error:
            raise UnsupportedError(f'"{name}" has no forward formula') from error
        if not forwards:
            raise UnsupportedError(f'"{name}" has no forward formula')
        names = self._names(function, arguments)
        returns = function.schema.returns
        results: list[DualText] = []
        for place, item in enumerate(returns):
            own = self._made(f"std::get<{place}>({primal[0]})") if len(returns) > 1 else primal
            results.append(DualText(own))
            names[f"result{place}" if len(returns) > 1 else "result"] = DualText(own)
            if item.name is not None:
                names[item.name] = DualText(own)
        tangents = {}
        for forward in forwards:
            tangents[forward.var_names[0]] = self._linearizer.formula(forward.formula, names)
        values = []
        for place, (item, own_value) in enumerate(zip(returns, results, strict=True)):
            keys = (item.name or "", f"result{place}", "result")
            values.append(DualText(own_value.primal, next((tangents[key] for key in keys if key in tangents), None)))
        return values[0] if len(values) == 1 else DualText(None, items=tuple(values))

    def _product(self, name: str, arguments: list[DualText], *, is_method: bool) -> Text | None:
        """The tangent of a product of the first two arguments, which may be of matrices."""
        facts = derived(name)
        polynomial = facts.outputs[0] if facts is not None and len(facts.outputs) == 1 else polynomials().get(name)
        if polynomial is None or [term.factors for term in polynomial.terms] != [polynomial.parameters[:2]]:
            return None
        if len(arguments) != 2 or polynomial.terms[0].divisors or polynomial.terms[0].unclear:
            return None
        total = None
        for place, argument in enumerate(arguments):
            if argument.tangent is not None:
                operands = [
                    DualText(item.tangent, may_be_absent=item.may_be_absent) if n == place else item
                    for n, item in enumerate(arguments)
                ]
                total = self.sum(total, self._written(name, operands, is_method=is_method))
        return total

    def _names(self, function: NativeFunction, arguments: Sequence[DualText]) -> dict[str, DualText]:
        """The names that the forward formulas of an operator use."""
        names: dict[str, DualText] = {}
        for place, parameter in enumerate(function.schema.arguments.flat_non_out):
            value = arguments[place] if place < len(arguments) else default_value(parameter.default)
            names[parameter.name] = names[parameter.name + PRIMAL] = replace(value, tangent=None, items=None)
            names[parameter.name + TANGENT] = DualText(value.primal, value.tangent or ZERO, items=value.items)
        return names


class _Substitution(_Linearization):
    """Evaluates a formula that is a tangent, with expressions for its names.

    A name that ends with ``_t`` has a tangent, which may be zero; everything else has none.
    """

    def binary(self, node: Binary) -> DualText:
        left, right = self.of(node.left), self.of(node.right)
        moving = left.tangent is not None, right.tangent is not None
        if not any(moving):
            return super().binary(node)
        if node.op in ("+", "-"):
            second = right.tangent
            if node.op == "-" and second not in (None, ZERO):
                assert second is not None
                second = self._negative(second)
            parts = [part for part in (left.tangent, second) if part not in (None, ZERO)]
            total = None
            for part in parts:
                total = self.sum(total, part)
            return DualText(None, total or ZERO)
        if all(moving) or (node.op == "/" and moving[1]) or node.op not in ("*", "/"):
            raise UnsupportedError("a forward formula is not linear")
        moved, fixed = (left, right) if moving[0] else (right, left)
        assert moved.tangent is not None
        assert fixed.primal is not None
        if moved.tangent == ZERO:
            return moved
        operands = (moved.tangent, fixed.primal) if moving[0] else (fixed.primal, moved.tangent)
        return DualText(None, self._binary(node.op, *operands))

    def unary(self, node: Unary) -> DualText:
        operand = self.of(node.operand)
        if operand.tangent is None:
            return super().unary(node)
        return operand if operand.tangent == ZERO else DualText(None, self._negative(operand.tangent))

    def conditional(self, node: Conditional) -> DualText:
        condition = self.of(node.condition).primal
        then, otherwise = self.of(node.then), self.of(node.otherwise)
        if condition is None or (then.tangent is None) != (otherwise.tangent is None) or then.tangent is None:
            return super().conditional(node)
        if then.tangent == otherwise.tangent:
            return then
        if ZERO in (then.tangent, otherwise.tangent):
            raise UnsupportedError("a branch of a forward formula is zero")
        assert otherwise.tangent is not None
        return DualText(None, self._choice(condition, then.tangent, otherwise.tangent))

    def _called(self, name: str, arguments: list[DualText], *, is_method: bool) -> DualText:
        moving = [argument for argument in arguments if argument.tangent is not None]
        if not moving:
            if name in _CONJUGATES:
                if arguments[0].is_plain:
                    return arguments[0]
                assert arguments[0].primal is not None
                return DualText(self._conjugate(arguments[0].primal))
            texts = self._written(name, arguments, is_method=is_method)
            if is_method and name in _METADATA:
                return self._metadata(name, arguments)
            return DualText(texts)
        if all(argument.tangent == ZERO for argument in moving):
            return DualText(None, ZERO)
        if name in _CONJUGATES:
            assert arguments[0].tangent is not None
            return DualText(None, self._conjugate(arguments[0].tangent))
        if name == "handle_r_to_c":
            return arguments[-1]
        passed = [self._passed(argument) for argument in arguments]
        if not is_method and helper_named(name) is not None and not self._is_operator(name):
            return DualText(None, self._helper(name, passed))
        return DualText(None, self._written(name, passed, is_method=is_method))

    def _accessed(self, held: DualText, place: int | None) -> DualText:
        if held.tangent is None:
            return super()._accessed(held, place)
        return held if held.tangent == ZERO else DualText(None, self._made(f"std::get<{place}>({held.tangent[0]})"))

    def _is_operator(self, name: str) -> bool:
        return self._linearizer.entries.operators.exists(without_symint(name))

    def _helper(self, name: str, arguments: Sequence[DualText]) -> Text:
        return self._made(f"{name}({', '.join(argument.passed[0] for argument in arguments)})")

    def _passed(self, argument: DualText) -> DualText:
        """An argument to pass: zeros for a zero tangent."""
        if argument.tangent is None:
            return argument
        return DualText(self._zeros(argument.primal) if argument.tangent == ZERO else argument.tangent)

    def _conjugate(self, text: Text) -> Text:
        if not self._linearizer.is_complex:
            return text
        return self._made(f"{enclosed(text, ATOM)}.conj()")
