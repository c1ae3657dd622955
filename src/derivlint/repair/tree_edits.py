"""Edits of a formula on its syntax tree: each fixes one mistake, and preserves the rest of the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches
from itertools import combinations

from derivlint.cpp.cpp_type import TENSOR
from derivlint.cpp.library import ATEN, HELPERS
from derivlint.cpp.naming import NAMESPACES
from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Conditional,
    Edit,
    Expr,
    Index,
    Member,
    Name,
    Node,
    Number,
    Parenthesized,
    Unary,
    apply_edits,
    unparenthesized,
    walk,
)
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import DerivativeFormula, Model, Role
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.generated.gradients import GRAD, GRAD_INPUT_MASK, GRADS
from derivlint.model.scope import is_internal, visible_names
from derivlint.operators import Book
from derivlint.operators.common_mistakes import forgotten_methods, siblings, truth_methods
from derivlint.operators.special import WHERE
from derivlint.repair.helper_calls import property_of
from derivlint.repair.slips import Change, Slip

#: So many helpers with a similar name are tried.
MAX_SIBLINGS = 8
#: The factors of a product of which all sets are conjugated.
MAX_FACTORS = 5
#: How much likelier an argument is lost at the end than anywhere else.
AT_END = 4
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_ARITHMETIC = ("+", "-", "*", "/")
_LOGIC = {"&&": "||", "||": "&&", "&": "|", "|": "&"}
_NUMBERS = ("0", "1", "2", "3", "0.5", "-1")
#: The types of variables, as far as they matter.
_TENSOR, _FLAG = "Tensor", "bool"
_FLAGS = {"true": "false", "false": "true"}


class TreeChanges:
    """The changes of one formula."""

    def __init__(self, model: Model, formula: DerivativeFormula, tree: Expr) -> None:
        self._library = model.typing.library
        self._formula = formula
        function = formula.entry.function
        self._is_complex = function is not None and model.book.takes_complex(function.canonical)
        self._text = formula.text or ""
        self._tree = tree
        self._types = _types(formula)
        self._tensors = [name for name, type in self._types.items() if type == _TENSOR]
        self._lists = _lists(formula)
        self._seeds = {GRADS, *(name for name in self._tensors if name.startswith(GRAD) or name.endswith(TANGENT))}
        self._nodes = list(walk(tree))
        self._parents = {child: node for node in self._nodes for child in node.children}

    def __iter__(self) -> Iterator[Change]:
        yield from self._of_whole(self._tree)
        for node in self._nodes:
            match node:
                case Name():
                    yield from self._of_name(node)
                case Number():
                    yield from self._of_number(node)
                case Index() if self._of(node.object) == GRADS:
                    for name in self._tensors:
                        cause = f"{quoted(name)} is meant, not {quoted(self._of(node))}"
                        weight = 8 if name in self._seeds else 1
                        yield Change(Slip.INDEX, Edit(node.start, node.end, name), cause, weight)
                case Unary():
                    yield self._dropped(Slip.SIGN, node, node.operand, f'"{node.op}" is superfluous')
                case Binary():
                    yield from self._of_binary(node)
                    if self._is_complex:
                        yield from self._conjugated(node)
                case Call():
                    yield from self._of_call(node)
                case Conditional():
                    yield from self._of_conditional(node)
                case BraceList() if len(self._formula.names) > 1:
                    yield self._replaced(Slip.FLAG, node, GRAD_INPUT_MASK, f"{quoted(GRAD_INPUT_MASK)} is meant")
                case Member():
                    yield from self._of_member(node)
                case _:
                    pass
            if isinstance(node, Expr) and self._is_value(node):
                yield from self._put_on(node)

    # ---- texts

    def _of(self, node: Node) -> str:
        return self._text[node.start : node.end]

    def _operand(self, node: Expr) -> str:
        """The text of an expression, in parentheses where it would fall apart as a part of another one."""
        text = self._of(node)
        return f"({text})" if isinstance(node, (Binary, Conditional, Unary)) else text

    def _replaced(self, slip: Slip, node: Node, text: str, cause: str) -> Change:
        return Change(slip, Edit(node.start, node.end, text), cause)

    def _dropped(self, slip: Slip, node: Expr, operand: Expr, cause: str) -> Change:
        """An expression replaced by a part of it, without parentheses that are not needed any more."""
        place: Node = node
        parent = self._parents.get(node)
        part = unparenthesized(operand)
        is_atom = not isinstance(part, (Binary, Conditional, Unary))
        if is_atom and isinstance(parent, Parenthesized):
            place = parent
        text = self._of(part) if is_atom or place is self._tree else self._of(operand)
        return self._replaced(slip, place, text, cause)

    # ---- nodes

    def _conjugated(self, node: Binary) -> Iterator[Change]:
        """Conjugates of several factors of a product: of one, they are put on it like any method."""
        parent = self._parents.get(node)
        factors = [factor for factor in _factors(node) if not isinstance(factor, Number)]
        if len(factors) > MAX_FACTORS or (isinstance(parent, Binary) and parent.op in ("*", "/")):
            return
        for count in range(2, len(factors) + 1):
            for chosen in combinations(factors, count):
                edits = [Edit(node.start, node.end, f"{self._operand(node)}.conj()") for node in chosen]
                text = apply_edits(self._text, edits)
                whole = Edit(0, len(self._text), text)
                names = quoted_list([self._of(node) for node in chosen])
                yield Change(Slip.CONJUGATE, whole, f"{names} are not conjugated")

    def _of_whole(self, tree: Expr) -> Iterator[Change]:
        whole = self._operand(tree)
        is_product = isinstance(tree, Binary) and tree.op in ("*", "/")
        if is_product and not self._text[tree.start :].startswith("-"):
            yield Change(Slip.SIGN, Edit(tree.start, tree.start, "-"), "the sign is wrong")
        elif not is_product and not isinstance(tree, Unary):
            # of other texts the present sign is superfluous
            yield self._replaced(Slip.SIGN, tree, f"-{whole}", "the sign is wrong")
        for factor in ("2", "0.5"):
            yield self._replaced(Slip.FACTOR, tree, f"{whole} * {factor}", f"the factor {factor} is missing")
        names = {node.simple for node in self._nodes if isinstance(node, Name)}
        if GRAD in self._types and not names & self._seeds:
            # the alternative is an argument in the place of the gradient, above all in a call
            weight = 1 if isinstance(tree, Call) else len(self._nodes)
            factor = self._of(tree) if is_product else whole
            edit = Edit(tree.start, tree.end, f"{GRAD} * {factor}")
            yield Change(Slip.VARIABLE, edit, f'the factor "{GRAD}" is missing', weight)
        if GRAD in self._types:
            n_names = len(self._formula.names)
            nothing = f"std::tuple<{', '.join([_TENSOR] * n_names)}>()" if n_names > 1 else f"{_TENSOR}()"
            text = f"{GRAD}.defined() ? {whole} : {nothing}"
            yield self._replaced(Slip.GUARD, tree, text, f'"{GRAD}" may be undefined')

    def _of_name(self, node: Name) -> Iterator[Change]:
        name = node.simple
        parent = self._parents.get(node)
        if name is None or (isinstance(parent, Call) and parent.callee is node):
            return
        if name in _FLAGS:
            yield self._replaced(Slip.FLAG, node, _FLAGS[name], f"{quoted(_FLAGS[name])} is meant")
            return
        if isinstance(parent, Index) and parent.object is node:
            return
        if name not in self._types and name[0].isupper():
            # a type
            yield Change(Slip.SPELLING, Edit(node.end, node.end, "()"), f"{quoted(name)} is not called")
        if self._types.get(name) == "Scalar" and self._is_complex:
            yield self._replaced(Slip.CONJUGATE, node, f"{name}.conj()", '".conj()" is missing')
        if self._types.get(name) in ("int", "SymInt"):
            for text in (f"{name} + 1", f"{name} - 1"):
                yield self._replaced(Slip.CONSTANT, node, text, f"{quoted(text)} is meant, not {quoted(name)}")
        parameter = self._parameter_of(node)
        variables = self._types if name in self._types else {**self._types, **dict.fromkeys(_FLAGS, _FLAG)}
        meant = {_base(name), parameter, *(get_close_matches(name, variables) if name not in self._types else ())}
        for variable, type in variables.items():
            if variable != name:
                likeness = 8.0 if variable in meant or _base(variable) in meant else 1.0
                if type != self._types.get(name, type):
                    likeness /= 8
                cause = f"{quoted(variable)} is meant, not {quoted(name)}"
                yield Change(Slip.VARIABLE, Edit(node.start, node.end, variable), cause, likeness)

    def _of_member(self, node: Member) -> Iterator[Change]:
        if node.arrow:
            yield Change(Slip.SPELLING, Edit(node.object.end, node.name_start, "."), '"." is meant, not "->"')
        parent = self._parents.get(node)
        if not (isinstance(parent, Call) and parent.callee is node):
            yield Change(Slip.SPELLING, Edit(node.end, node.end, "()"), f"{quoted(node.name)} is not called")
            yield Change(Slip.SPELLING, Edit(node.object.end, node.name_start, ", "), '"," is meant, not "."')

    def _of_number(self, node: Number) -> Iterator[Change]:
        parameter = self._parameter_of(node)
        is_index = isinstance(self._parents.get(node), Index)
        values = [*_near(node.text), *_NUMBERS, *sorted(self._types.keys() - set(self._tensors))]
        for value in dict.fromkeys(item for item in values if item.isdigit() or not is_index):
            if value != node.text:
                weight = 4 if value == parameter else 1
                cause = f"{value} is meant, not {node.text}"
                slip = Slip.INDEX if is_index else Slip.CONSTANT
                yield Change(slip, Edit(node.start, node.end, value), cause, weight)

    def _of_binary(self, node: Binary) -> Iterator[Change]:
        for group, slip in ((_COMPARISONS, Slip.COMPARISON), (_ARITHMETIC, Slip.OPERATOR)):
            if node.op in group:
                for op in group:
                    if op != node.op:
                        yield self._operator(slip, node, op)
        if node.op in _LOGIC:
            yield self._operator(Slip.OPERATOR, node, _LOGIC[node.op])
        for operand, dropped in ((node.left, node.right), (node.right, node.left)):
            if node.op in (*_ARITHMETIC, *_LOGIC):
                cause = f"{quoted(self._of(dropped))} is superfluous"
                yield self._dropped(Slip.OPERAND, node, operand, cause)
        if node.op in ("-", "/"):
            text = f"{self._operand(node.right)} {node.op} {self._operand(node.left)}"
            yield self._replaced(Slip.EXCHANGE, node, text, f'the operands of "{node.op}" are exchanged')

    def _operator(self, slip: Slip, node: Binary, op: str) -> Change:
        cause = f'"{op}" is meant, not "{node.op}"'
        return Change(slip, Edit(node.op_start, node.op_start + len(node.op), op), cause)

    def _of_conditional(self, node: Conditional) -> Iterator[Change]:
        for branch in (node.then, node.otherwise):
            if not any(isinstance(part, Name) and part.simple in self._seeds for part in walk(branch)):
                continue
            yield self._dropped(Slip.BRANCH, node, branch, "the condition is superfluous")
        text = f"{self._of(node.condition)} ? {self._of(node.otherwise)} : {self._of(node.then)}"
        yield self._replaced(Slip.BRANCH, node, text, "the branches are exchanged")

    def _of_call(self, node: Call) -> Iterator[Change]:
        callee = node.callee
        if isinstance(callee, Member):
            slip = Slip.CONJUGATE if callee.name == forgotten_methods()[0] else Slip.METHOD
            yield self._dropped(slip, node, callee.object, f"{quoted('.' + callee.name)} is superfluous")
            declared = self._library.method_names(TENSOR)
            yield from self._names_for(callee.name, callee.name_start, declared, siblings(callee.name))
        elif isinstance(callee, Name):
            part = callee.parts[-1]
            declared = (*self._library.function_names(HELPERS), *self._library.function_names(ATEN))
            similar = self._similar(part.identifier, len(node.args))
            yield from self._names_for(part.identifier, part.start, declared, (*siblings(part.identifier), *similar))
            for variable in self._types:
                if part.identifier.startswith(variable) and part.identifier != variable:
                    # "selfsin" as "self.sin"
                    end = part.start + len(variable)
                    yield Change(Slip.SPELLING, Edit(end, end, "."), '"." is missing')
            # of "at::native::f" the first part
            end = callee.parts[1].start if len(callee.parts) > 1 else callee.start
            written = self._text[callee.start : end]
            for namespace in ("", *(f"{name}::" for name in NAMESPACES)):
                if namespace != written:
                    cause = f"{quoted(namespace + self._text[end : callee.end])} is meant"
                    yield Change(Slip.NAMESPACE, Edit(callee.start, end, namespace), cause)
            for argument in node.args[:1]:
                yield self._dropped(Slip.METHOD, node, argument, f"{quoted(part.identifier)} is superfluous")
        yield from self._of_arguments(node)

    def _names_for(self, name: str, start: int, declared: Sequence[str], similar: Iterable[str]) -> Iterator[Change]:
        """Other functions for one that is called: those with similar names where there is none of that name."""
        slip = Slip.HELPER
        if name not in declared:
            slip, similar = Slip.SPELLING, (*get_close_matches(name, declared, MAX_SIBLINGS, 0.7), *similar)
        for replacement in similar:
            cause = f"{quoted(replacement)} is meant, not {quoted(name)}"
            yield Change(slip, Edit(start, start + len(name), replacement), cause)

    def _of_arguments(self, node: Call) -> Iterator[Change]:
        arguments = node.args
        texts = [self._of(argument) for argument in arguments]
        for first, second in combinations(range(len(texts)), 2):
            if texts[first] == texts[second]:
                continue
            one, two = arguments[first], arguments[second]
            between = self._text[one.end : two.start]
            edit = Edit(one.start, two.end, texts[second] + between + texts[first])
            slip = Slip.BRANCH if _callee(node) == WHERE and first else Slip.EXCHANGE
            yield Change(slip, edit, f"{quoted(texts[first])} and {quoted(texts[second])} are swapped")
        for index, argument in enumerate(arguments):
            start = arguments[index - 1].end if index else argument.start
            end = argument.end if index or len(arguments) == 1 else arguments[1].start
            cause = f"the argument {quoted(texts[index])} is superfluous"
            yield Change(Slip.ARGUMENT_COUNT, Edit(start, end, ""), cause)
        yield from self._missing_arguments(node)

    def _missing_arguments(self, node: Call) -> Iterator[Change]:
        arguments, parameters = node.args, self._parameters(node)
        if parameters and len(parameters) <= len(arguments):
            return
        texts = set(map(self._of, arguments))
        for index in range(len(arguments) + 1):
            parameter = parameters[index] if index < len(parameters) else None
            place = arguments[index].start if index < len(arguments) else node.end - 1
            own = property_of(parameter or "", self._formula.key_text, self._types)
            for name in (*self._types, *_FLAGS, *([own] if own is not None else ())):
                passed = f"{name}[i]" if name in self._lists else name
                is_meant = (_base(name) == parameter or name == own) and passed not in texts
                weight = (8 if is_meant else 1) * (AT_END if index == len(arguments) else 1)
                text = f"{passed}, " if index < len(arguments) else f", {passed}" if arguments else passed
                cause = f"the argument {quoted(passed)} is missing"
                yield Change(Slip.ARGUMENT_COUNT, Edit(place, place, text), cause, weight)

    def _put_on(self, node: Expr) -> Iterator[Change]:
        """A method, a factor or a sign put on a tensor."""
        parent = self._parents.get(node)
        text = self._operand(node)
        if isinstance(parent, Conditional) and parent.condition is node:
            yield self._replaced(Slip.METHOD, node, f"{text}.defined()", '".defined()" is missing')
            return
        if self._is_truth(node):
            for name in sorted(truth_methods()):
                yield self._replaced(Slip.METHOD, node, f"{text}.{name}()", f"{quoted(f'.{name}()')} is missing")
            return
        for index, method in enumerate(forgotten_methods()):
            slip = Slip.METHOD if index else Slip.CONJUGATE
            yield self._replaced(slip, node, f"{text}.{method}()", f"{quoted(f'.{method}()')} is missing")
        # the sign of what is added or subtracted is the operator before it
        is_signed = isinstance(parent, Binary) and (parent.op == "*" or (parent.op in "+-" and parent.right is node))
        if isinstance(parent, (Call, Parenthesized, Conditional)) or (isinstance(parent, Binary) and not is_signed):
            yield self._replaced(Slip.SIGN, node, f"-{text}", f"the sign of {quoted(self._of(node))} is wrong")
        if isinstance(node, Binary) and node.op in ("*", "/"):
            return
        for name in self._tensors:
            if name != self._of(node):
                yield self._replaced(Slip.FACTOR, node, f"{text} * {name}", f"the factor {quoted(name)} is missing")

    def _is_truth(self, node: Expr) -> bool:
        """Whether an expression is a mask, or a truth value."""
        if isinstance(node, Call):
            return (_callee(node) or "").removesuffix("_") in Book.by_hand("answers")
        return isinstance(node, Binary) and node.op in (*_COMPARISONS, *_LOGIC)

    # ---- facts

    def _is_value(self, node: Expr) -> bool:
        """Whether an expression is a tensor, or may be."""
        parent = self._parents.get(node)
        if isinstance(parent, Call) and parent.callee is node:
            return False
        if isinstance(node, Name):
            return node.simple in self._tensors and not (isinstance(parent, Member))
        if isinstance(node, (Number, Parenthesized, BraceList)):
            return False
        return isinstance(node, (Call, Binary, Index))

    def _parameters(self, node: Call) -> Sequence[str]:
        """The names of the parameters of a helper that is called."""
        functions = self._library.functions(HELPERS, _callee(node) or "").functions
        return [parameter.name for parameter in functions[0].parameters] if functions else ()

    def _parameter_of(self, node: Expr) -> str | None:
        """The name of the parameter that an argument of a helper is for."""
        call = self._parents.get(node)
        if not isinstance(call, Call) or node not in call.args:
            return None
        parameters, index = self._parameters(call), call.args.index(node)
        return parameters[index] if index < len(parameters) else None

    def _similar(self, name: str, count: int) -> list[str]:
        """The helpers with names most like that of another one which take as many arguments."""
        parts = set(name.split("_")) - {"backward", "jvp", ""}
        names = []
        for helper in self._library.function_names(HELPERS):
            functions = self._library.functions(HELPERS, helper).functions if parts & set(helper.split("_")) else ()
            if helper != name and any(item.required <= count <= len(item.parameters) for item in functions):
                names.append(helper)
        return sorted(names, key=lambda helper: -SequenceMatcher(None, name, helper).ratio())[:MAX_SIBLINGS]


def _factors(tree: Expr) -> Iterator[Expr]:
    """The factors and divisors of a product."""
    if isinstance(tree, Binary) and tree.op in ("*", "/"):
        yield from _factors(tree.left)
        yield from _factors(tree.right)
    elif isinstance(tree, Unary):
        yield from _factors(tree.operand)
    else:
        yield tree


def _base(name: str) -> str:
    """The argument that a primal or a tangent is of."""
    return name.removesuffix(PRIMAL).removesuffix(TANGENT)


def _callee(node: Call) -> str | None:
    callee = node.callee
    if isinstance(callee, Member):
        return callee.name
    return callee.parts[-1].identifier if isinstance(callee, Name) else None


def _near(number: str) -> Iterable[str]:
    if number.isdigit():
        yield from (str(int(number) + 1), f"-{number}")
        if int(number):
            yield str(int(number) - 1)
            yield f"1. / {number}"


def _lists(formula: DerivativeFormula) -> set[str]:
    """The variables of which the formula of a foreach operator takes the elements."""
    function = formula.entry.function
    if function is None or not function.canonical.name.is_foreach:
        return set()
    names = {item.name for item in function.schema.arguments.flat_non_out if item.type.is_list_like is not None}
    return names | {output.name for output in function.outputs if formula.role is Role.BACKWARD}


def _types(formula: DerivativeFormula) -> dict[str, str]:
    """The variables that a formula can use, each gradient one of them, with what they are."""
    function, info = formula.entry.function, formula.body.info
    if function is None or info is None:
        return {}
    arguments = {
        item.name: _TENSOR if item.is_tensor_like else str(item.argument and item.argument.type)
        for item in function.arguments
    }
    types = {}
    for name in visible_names(formula):
        if not is_internal(name) and name != GRADS:
            types[name] = arguments.get(_base(name), _FLAG if name == GRAD_INPUT_MASK else _TENSOR)
    count = sum(info.output_differentiability or [output.type.is_tensor_like for output in function.outputs])
    if formula.role is Role.BACKWARD and count > 1:
        types |= {f"{GRADS}[{index}]": _TENSOR for index in range(count)}
    return types
