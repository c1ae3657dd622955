"""Translation of formulas that mix Python and C++ to C++."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

from msgspec import Struct
from msgspec.structs import replace

from derivlint.analysis.outputs import discrete_kind
from derivlint.analysis.python.calls import positional
from derivlint.analysis.python.notations import Context, Notation, is_condition, notation_of
from derivlint.analysis.python.typing import FormulaTyping, typing_of
from derivlint.analysis.soundness import is_accepted
from derivlint.cpp.cpp_type import BOOL, SCALAR, TENSOR, UNKNOWN
from derivlint.cpp.declarations.declaration import Function
from derivlint.formula import (
    Binary,
    Cast,
    Conditional,
    Lambda,
    Member,
    Name,
    Parenthesized,
    Unary,
    parse_formula,
    tokens,
)
from derivlint.formula.python.parts import Part, PythonComment
from derivlint.formula.python.reader import read_python
from derivlint.model import DerivativeFormula, Model
from derivlint.model.generated.typing import has_sound_key
from derivlint.model.scope import undeclared_names, visible_names
from derivlint.operators.common_mistakes import builtins
from derivlint.source.lazy import cached_property

#: The maximum number of combinations of alternatives to try, and to pass to the enclosing part.
MAX_COMBINED, MAX_KEPT = 16, 4
#: The suffixes of symbolic sizes, and of functions that take them.
SYMBOLIC, SYMINT = (".sym_sizes()", ".sym_strides()"), "_symint"
#: The maximum length of a formula to translate.
MAX_LENGTH = 5_000


class PythonSlip(Struct, frozen=True):
    """A Python notation in a formula.

    Attributes:
        start: the start of its sign.
        end: the end of its sign.
        message: the fact about C++.
        changed: the range of the formula to replace.
        text: the C++ for the range, or None if unknown.
        hint: the cure if ``text`` is None.
        is_certain: whether the formula with all translations is well typed and has a value for each name of its key.
    """

    start: int
    end: int
    message: str
    changed: tuple[int, int]
    text: str | None
    hint: str | None
    is_certain: bool


class _Slip(Struct, eq=False):
    """A notation with the range to replace."""

    notation: Notation
    start: int
    end: int


class _Option(Struct, frozen=True):
    """A way to write a part in C++, with the C++ for each notation in it."""

    text: str
    written: tuple[tuple[_Slip, str | None], ...] = ()


class _NoNumberError(Exception):
    """A template requires a number, and the operand is a tensor."""


class _Written:
    """The text of a part in a template: ``{0:p}`` adds parentheses if a method is called on it."""

    def __init__(self, text: str, typing: FormulaTyping | None) -> None:
        self._text = text
        self._typing = typing

    def __format__(self, spec: str) -> str:
        if spec == "n":
            type = self.number
            return f"{self:p}.toDouble()" if type == SCALAR.text else self._text
        tree = parse_formula(self._text).tree if spec else None
        if spec == "a":
            return self._text[1:-1] if isinstance(tree, Parenthesized) else self._text
        return f"({self._text})" if isinstance(tree, _BINDING.get(spec, ())) else self._text

    @property
    def number(self) -> str:
        """The type of a number."""
        type = (self._typing.type_of(self._text) if self._typing is not None else UNKNOWN).text
        if type not in _NUMBERS:
            raise _NoNumberError
        return type


#: The expressions that need parentheses in templates.
_BINDING = {
    "p": (Binary, Unary, Conditional, Cast, Lambda),
    "i": (Binary, Conditional),
    "c": (Conditional,),
    "f": (Binary, Conditional),
}
_INTEGERS = frozenset({"int", "int64_t", "long", "bool", "size_t", "long long", "unsigned int"})
_NUMBERS = _INTEGERS | {"double", "float", SCALAR.text, "SymInt", "SymFloat"}


def _common(parts: Sequence[_Written]) -> str:
    """The common type of numbers."""
    types = {part.number for part in parts}
    if types <= _INTEGERS:
        return "int64_t"
    return "c10::SymInt" if types <= _INTEGERS | {"SymInt"} else "double"


def _filled(template: str, options: Sequence[_Option], typing: FormulaTyping | None) -> str | None:
    """Fill in a template; None if it requires numbers and the parts are not."""
    parts = [_Written(option.text, typing) for option in options]
    try:
        return template.format(*parts, t=_common(parts) if "{t}" in template else "")
    except _NoNumberError:
        return None


def python_slips(model: Model, formula: DerivativeFormula) -> tuple[PythonSlip, ...]:
    """The Python notations in a formula, in source order."""
    text = formula.text
    if text is None or not formula.is_expression or len(text) > MAX_LENGTH or not model.layout.cpp:
        return ()
    certain = (
        not formula.parsed.problems
        and not undeclared_names(formula)
        and not any(problem.written is formula for problem in model.type_problems(formula.entry))
    )
    flags = _flags(formula)
    if not _may_be_python(text, certain and not flags):
        return ()
    whole, comments = read_python(text)
    if whole is None:
        return ()
    translator = _PythonTranslator(model, formula, flags, comments)
    slips = tuple(translator.slips(whole))
    if slips and translator.typing is None and not formula.parsed.problems:
        # if the formula parses, only undeclared names are certainly Python
        undeclared = {name.word.start for name in undeclared_names(formula)}
        return tuple(slip for slip in slips if slip.start in undeclared)
    return slips


def _flags(formula: DerivativeFormula) -> frozenset[str]:
    """The ``bool?`` arguments whose values a formula does not read."""
    function = formula.entry.function
    if function is None:
        return frozenset()
    arguments = function.canonical.schema.arguments.flat_non_out
    nodes = formula.parsed.nodes
    names = {node.simple for node in nodes if isinstance(node, Name)}
    flags = {argument.name for argument in arguments if argument.name in names and str(argument.type) == "bool?"}
    read = {node.operand for node in nodes if isinstance(node, Unary) and node.op == "*"}
    read |= {node.object for node in nodes if isinstance(node, Member) and node.name.startswith("value")}
    return frozenset(flags - {node.simple for node in read if isinstance(node, Name)})


def _may_be_python(text: str, compiles: bool) -> bool:
    """Whether a formula may contain Python; if it compiles, only notations with another meaning in C++."""
    if not compiles:
        return True
    before = ""
    relations = 0
    for token in tokens(text):
        if token.type in ("CHAR", "WS"):
            if token.type == "CHAR":
                return True
            continue
        written = token.text
        if written in ("=", "^") or (before == "[" and token.type in ("BOTH", "PREFIX")):
            return True
        if written == "(" and before in builtins():
            return True
        if written in ("(", ",", ")"):
            relations = 0
        relations += written in ("<", ">", "<=", ">=")
        opens_tuple = written == "(" and before in ("", "(", ",", "?", ":", "*", "+", "-", "/") and "," in text
        if relations > 1 or opens_tuple:
            return True
        if token.type == "LSQB" and any(mark in text for mark in ("mask", "<", ">", "==", "!=", "~", ",")):
            return True
        before = written
    return False


class _PythonTranslator:
    def __init__(
        self, model: Model, formula: DerivativeFormula, flags: frozenset[str], comments: list[PythonComment]
    ) -> None:
        self._model = model
        self._formula = formula
        self._text = formula.parsed.text
        self._comments = comments
        self._variables = frozenset(visible_names(formula))
        self._flags = flags
        self._n_values = len(formula.names)
        self._bound: dict[str, _Option] = {}
        self._walruses: set[_Slip] = set()
        self._known: dict[Part, list[_Option]] = {}

    @cached_property
    def typing(self) -> FormulaTyping | None:
        """The types of expressions in place of the formula, computed on demand."""
        return typing_of(self._model, self._formula) if has_sound_key(self._formula) else None

    def slips(self, whole: Part) -> Iterator[PythonSlip]:
        """The Python notations and comments in the text."""
        options = self._of(whole, ())
        if len(options) > 1 and (typing := self.typing) is not None:
            options = sorted(options, key=lambda option: typing.problems(option.text, whole=True))
        option = options[0]
        if not option.written and not self._comments:
            return
        is_certain = (
            self.typing is not None
            and all(text is not None and not slip.notation.is_guess for slip, text in option.written)
            and is_accepted(self._model, self._formula, option.text)
        )
        made = dict(option.written)
        for slip in sorted(made, key=lambda slip: (slip.notation.start, slip.start)):
            notation = slip.notation
            text = option.text if slip in self._walruses else made[slip]
            yield PythonSlip(
                notation.start, notation.end, notation.message, (slip.start, slip.end), text, notation.hint, is_certain
            )
        for comment in self._comments:
            text = self._comment(comment)
            yield PythonSlip(
                comment.start,
                comment.end,
                '"#" begins no comment in C++',
                (comment.start, comment.end),
                text,
                None,
                is_certain,
            )

    # ---- parts

    def _of(self, part: Part, parents: tuple[Part, ...]) -> list[_Option]:
        """The ways to write a part in C++, best first."""
        if part not in self._known:
            self._known[part] = self._options(part, parents)
        return self._known[part]

    def _options(self, part: Part, parents: tuple[Part, ...]) -> list[_Option]:
        if part.kind == "name" and part.text in self._bound:
            return [self._bound[part.text]]
        if part.kind == "walrus":
            return self._walrus(part, parents)
        if part.kind == "call" and any(item.kind in ("keyword", "unpacking") for item in part.children):
            return self._keywords(part, parents)
        called = part.children[0].children if part.kind == "call" and part.children[0].kind == "parentheses" else ()
        if called and called[0].kind == "lambda":
            return self._called_lambda(part, parents)
        notation = notation_of(part, Context(self._text, self._variables, self._flags, self._n_values, parents))
        inside = (*parents, part)
        if notation is None or (part.text == "^" and not self._is_power(part)):
            return self._as_it_is(part, inside)
        before = 0
        if self.typing is not None and not notation.misread and not notation.is_called:
            unchanged = self._as_it_is(part, inside)
            before = self.typing.problems(unchanged[0].text)
            if not before:
                return unchanged
        slip = _Slip(notation, part.start, part.end)
        if not notation.templates:
            rest = _all(next(self._chosen(notation.parts, inside), ()))
            return [_Option(self._text[part.start : part.end], ((slip, None), *rest))]
        options = []
        for template in notation.templates:
            for chosen in self._chosen(notation.parts, inside):
                text = _filled(template, chosen, self.typing)
                if text is not None:
                    options.append(_Option(text, ((slip, text), *_all(chosen))))
        if not options:
            return self._as_it_is(part, inside)
        if notation.is_called:
            return options[:MAX_KEPT]
        best = self._best(options[: 4 * MAX_COMBINED])
        if before and self.typing is not None and self.typing.problems(best[0].text) >= before:
            # the mistake is something else
            return self._as_it_is(part, inside)
        return best

    def _is_power(self, part: Part) -> bool:
        """Whether ``x ^ 2`` means a power: floating-point numbers have no bitwise operators."""
        if self.typing is None:
            return False
        base, _ = part.children
        types = [self.typing.type_of(self._text[item.start : item.end]) for item in part.children]
        if types[0] is not TENSOR or types[1].text not in _NUMBERS or types[1] is BOOL or is_condition(base):
            return False
        return any(word.text in self._variables - self._integral for word in tokens(self._text[base.start : base.end]))

    @cached_property
    def _integral(self) -> frozenset[str]:
        """The variables that may be integral: arguments without derivative, and outputs that are indices."""
        info, function = self._formula.body.info, self._formula.entry.function
        if info is None or function is None:
            return self._variables
        arguments = {argument.name for argument in function.schema.arguments.flat_all}
        arguments -= {binding.name for binding in info.args_with_derivatives}
        outputs = (output for output in function.outputs if discrete_kind(function.canonical, output.index))
        return frozenset(arguments.union(output.name for output in outputs))

    def _as_it_is(self, part: Part, inside: tuple[Part, ...]) -> list[_Option]:
        """The ways to write a part that C++ has too."""
        parts = part.children
        options: list[_Option] = []
        for chosen in self._chosen(parts, inside):
            texts = [option.text for option in chosen]
            options.append(_Option(self._spliced(part, parts, texts), _all(chosen)))
            symbolic = {index for index, option in enumerate(chosen) if index and self._is_symbolic(option)}
            if part.kind == "call" and symbolic and self._callees(parts[0], f"{texts[0]}{SYMINT}"):
                # symbolic sizes need another function
                text = self._spliced(part, parts, [f"{texts[0]}{SYMINT}", *texts[1:]])
                ranges = {(parts[index].start, parts[index].end) for index in symbolic}
                written = tuple(
                    (_Slip(slip.notation, part.start, part.end), text)
                    if (slip.start, slip.end) in ranges
                    else (slip, inner)
                    for slip, inner in _all(chosen)
                )
                options.append(_Option(text, written))
        return self._best(options)

    def _is_symbolic(self, option: _Option) -> bool:
        """Whether an argument is a translated list of symbolic sizes."""
        if option.text.endswith(SYMBOLIC):
            return True
        return bool(option.written) and self.typing is not None and "SymInt" in self.typing.type_of(option.text).text

    def _chosen(self, parts: Sequence[Part], parents: tuple[Part, ...]) -> Iterator[tuple[_Option, ...]]:
        """The combinations of the ways to write several parts."""
        return islice(product(*(self._of(part, parents) for part in parts)), MAX_COMBINED)

    def _best(self, options: list[_Option]) -> list[_Option]:
        """The options with the fewest problems, regardless of enclosing parts."""
        by_text: dict[str, _Option] = {}
        for option in options:
            by_text.setdefault(option.text, option)
        unique = list(by_text.values())
        if len(unique) == 1 or self.typing is None:
            return unique[:MAX_KEPT]
        counts = [self.typing.problems(option.text) for option in unique]
        least = min(counts)
        return [option for option, count in zip(unique, counts, strict=True) if count == least][:MAX_KEPT]

    def _spliced(self, part: Part, parts: Sequence[Part], texts: Sequence[str]) -> str:
        """The source of a part with replaced children."""
        position = part.start
        pieces: list[str] = []
        for inner, text in zip(parts, texts, strict=True):
            pieces.append(self._between(position, inner.start))
            if part.kind == "parentheses" and isinstance(parse_formula(text).tree, Parenthesized):
                text = text[1:-1]
            pieces.append(text)
            position = inner.end
        pieces.append(self._between(position, part.end))
        return "".join(pieces)

    def _between(self, start: int, end: int) -> str:
        """The source in a range, with comments in C++ notation."""
        text = ""
        for comment in self._comments:
            if start <= comment.start and comment.end <= end:
                text += self._text[start : comment.start] + self._comment(comment)
                start = comment.end
        return text + self._text[start:end]

    def _comment(self, comment: PythonComment) -> str:
        inside = self._text[comment.start + 1 : comment.end].strip().replace("*/", "* /")
        return f"/* {inside} */"

    # ---- notations without templates

    def _walrus(self, part: Part, parents: tuple[Part, ...]) -> list[_Option]:
        """Translate ``(y := x) * y``: insert the value for each use."""
        assert part.token is not None
        value = self._of(part.children[1], (*parents, part))[0]
        text = f"{_Written(value.text, None):p}"
        whole = parents[0] if parents else part
        notation = Notation("a formula has no variables of its own", part.token.start, part.token.end)
        slip = _Slip(notation, whole.start, whole.end)
        self._bound[part.text] = _Option(text)
        self._walruses.add(slip)
        return [_Option(value.text, ((slip, value.text), *value.written))]

    def _called_lambda(self, part: Part, parents: tuple[Part, ...]) -> list[_Option]:
        """Translate ``(lambda x: x * y)(z)``: insert the arguments into the body."""
        callee, *arguments = part.children
        function = callee.children[0]
        *parameters, body = function.children
        if len(parameters) != len(arguments) or function.token is None:
            return self._as_it_is(part, (*parents, part))
        inside = (*parents, part)
        for parameter, argument in zip(parameters, arguments, strict=True):
            value = self._of(argument, inside)[0]
            self._bound[parameter.text] = _Option(f"{_Written(value.text, None):p}", value.written)
        slip = _Slip(Notation("C++ has no lambda", function.token.start, function.token.end), part.start, part.end)
        options = self._of(body, inside)
        for parameter in parameters:
            self._bound.pop(parameter.text, None)
        texts = [f"{_Written(option.text, None):p}" for option in options]
        return [_Option(text, ((slip, text), *option.written)) for text, option in zip(texts, options, strict=True)]

    def _keywords(self, part: Part, parents: tuple[Part, ...]) -> list[_Option]:
        callee, *arguments = part.children
        inside = (*parents, part)
        keywords = [item for item in arguments if item.kind == "keyword"]
        if not self._are_keywords(arguments):
            return self._as_it_is(part, inside)
        slips: dict[Part, _Slip] = {}
        for item in arguments:
            if item.kind in ("keyword", "unpacking") and item.token is not None:
                lacking = "keyword arguments" if item.kind == "keyword" else '"**" for arguments'
                hint = "pass it by its position" if item.kind == "keyword" else "pass them one by one, by position"
                notation = Notation(f"C++ has no {lacking}", item.token.start, item.token.end, hint=hint)
                slips[item] = _Slip(notation, item.start, item.end)
        values = [item.children[0] if item.kind in ("keyword", "unpacking") else item for item in arguments]
        options: list[_Option] = []
        fallback: list[_Option] = []
        for chosen in self._chosen((callee, *values), inside):
            named, *texts = (option.text for option in chosen)
            rest = _all(chosen)
            plain = [
                text for text, item in zip(texts, arguments, strict=True) if item.kind not in ("keyword", "unpacking")
            ]
            by_name = {item.text: text for text, item in zip(texts, arguments, strict=True) if item.kind == "keyword"}
            for made, filled in self._positional(callee, named, plain, by_name):
                call = f"{named}({', '.join(made)})"
                simple = not filled and made == texts
                written = tuple(
                    (
                        slip if simple else _Slip(slip.notation, part.start, part.end),
                        by_name[item.text] if simple else call,
                    )
                    for item, slip in slips.items()
                    if item.kind == "keyword"
                )
                options.append(_Option(call, (*written, *rest)))
            # the name is unknown, so the position is a guess
            guessed = tuple(
                (_Slip(replace(slip.notation, is_guess=True), slip.start, slip.end), by_name.get(item.text))
                for item, slip in slips.items()
            )
            call = f"{named}({', '.join(texts)})" if len(by_name) == len(slips) else self._text[part.start : part.end]
            fallback.append(_Option(call, (*guessed, *rest)))
        if len(keywords) < len(slips) or not options:
            return self._best(fallback)
        return self._best(options)

    def _are_keywords(self, arguments: Sequence[Part]) -> bool:
        """Whether ``f(a = b)`` passes keyword arguments rather than comparing."""
        named = [item.kind in ("keyword", "unpacking") for item in arguments]
        if all(named[named.index(True) :]):
            return True
        return any(
            item.kind == "keyword" and (item.text == item.children[0].text or item.text not in self._variables)
            for item in arguments
        )

    def _callees(self, callee: Part, named: str) -> tuple[Function, ...]:
        """The overloads of a function or method with a C++ name."""
        if self.typing is None:
            return ()
        name = named.rpartition("::")[2]
        receiver: str | None = None
        if callee.kind == "member" and "." in named:
            receiver, _, name = named.rpartition(".")
        overloads = self.typing.callees(named, receiver, name)
        return overloads.functions if overloads is not None else ()

    def _positional(
        self, callee: Part, named: str, plain: list[str], by_name: dict[str, str]
    ) -> Iterator[tuple[list[str], bool]]:
        functions = self._callees(callee, named)
        if functions and by_name:
            yield from positional(self._model.natives, functions, plain, by_name)


def _all(options: Sequence[_Option]) -> tuple[tuple[_Slip, str | None], ...]:
    return tuple(item for option in options for item in option.written)
