"""Parse a text that mixes Python and C++, by the operator precedences of both."""

from __future__ import annotations

from derivlint.formula.nodes import depth
from derivlint.formula.python.parts import (
    ELLIPSIS,
    FLOOR_DIVISION,
    POWER,
    PYTHON_STRING,
    WALRUS,
    WORD,
    Kind,
    Part,
    PythonComment,
    python_tokens,
)
from derivlint.formula.vocabulary import Token

#: The maximum nesting of expressions, and the maximum depth of the tree.
MAX_NESTING = 40
MAX_DEPTH = 60
_LEVELS = {
    text: level
    for level, operators in enumerate(
        (
            "= += -= *= /= %= &= |= ^= <<= >>= **= //= @=",
            "|| or",
            "&& and",
            "| bitor",
            "^ xor",
            "& bitand",
            "== != not_eq is in",
            "< > <= >=",
            "<< >>",
            "+ -",
            "* / % // @",
        )
    )
    for text in operators.split()
} | {"is not": 6, "not in": 6}
_CONDITIONAL = 0
_COMPARISON = 6
_RELATIONS = frozenset({"<", ">", "<=", ">="})
_ASSIGNMENT = 0
_CLOSED_BY = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}


class _NotUnderstoodError(Exception):
    """The text is neither Python nor C++."""


def read_python(text: str) -> tuple[Part | None, list[PythonComment]]:
    """Parse a text; return its tree, or None if it does not parse, and its Python comments."""
    tokens, comments = python_tokens(text)
    reader = _PythonReader(tokens)
    try:
        whole = reader.whole()
    except _NotUnderstoodError:
        return None, comments
    # chains of calls are parsed in a loop but translated recursively
    return (whole if depth(whole) <= MAX_DEPTH else None), comments


class _PythonReader:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._index = 0
        self._nesting = 0

    # ---- tokens

    @property
    def _kind(self) -> str:
        return self._tokens[self._index].type if self._index < len(self._tokens) else ""

    @property
    def _text(self) -> str:
        return self._tokens[self._index].text if self._index < len(self._tokens) else ""

    def _next(self, kind: str = "") -> Token:
        if self._index == len(self._tokens) or kind not in ("", self._kind):
            raise _NotUnderstoodError
        self._index += 1
        return self._tokens[self._index - 1]

    def _word(self, text: str) -> Token:
        if self._kind != WORD or self._text != text:
            raise _NotUnderstoodError
        return self._next()

    # ---- expressions

    def whole(self) -> Part:
        """Parse the whole text, which may be a tuple without parentheses."""
        first = self._expression()
        if self._kind == "COMMA":
            comma = self._tokens[self._index]
            values = [first]
            while self._kind == "COMMA":
                self._next()
                values.append(self._expression())
            first = Part("tuple", first.start, values[-1].end, tuple(values), comma)
        if self._index < len(self._tokens):
            raise _NotUnderstoodError
        return first

    def _expression(self, level: int = _CONDITIONAL) -> Part:
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            raise _NotUnderstoodError
        part = self._lambda() if (self._kind, self._text) == (WORD, "lambda") else self._chain(level)
        self._nesting -= 1
        return part

    def _chain(self, level: int) -> Part:
        left = self._unary()
        while self._index < len(self._tokens):
            kind, text = self._kind, self._text
            if kind == "QUESTION" and level == _CONDITIONAL:
                token = self._next()
                middle = self._expression()
                self._next("COLON")
                right = self._expression()
                left = Part("conditional", left.start, right.end, (left, middle, right), token, "?")
            elif (kind, text) == (WORD, "if") and level == _CONDITIONAL:
                token = self._next()
                condition = self._expression(1)
                self._word("else")
                right = self._expression()
                left = Part("if", left.start, right.end, (left, condition, right), token, "if")
            elif kind == WALRUS and level == _CONDITIONAL and left.kind == "name":
                token = self._next()
                right = self._expression()
                left = Part("walrus", left.start, right.end, (left, right), token, left.text)
            elif kind in ("BOTH", "BINARY", "BAD", WORD, FLOOR_DIVISION) and _LEVELS.get(text, -1) >= level:
                left = self._binary(left, _LEVELS[text])
            else:
                break
        return left

    def _binary(self, left: Part, level: int) -> Part:
        token = self._next()
        # assignments are right-associative
        right = self._expression(level if level == _ASSIGNMENT else level + 1)
        kind: Kind = "assignment" if level == _ASSIGNMENT else "binary"
        if token.text in ("is", "is not"):
            kind = "is"
        elif token.text in ("in", "not in"):
            kind = "in"
        elif token.text in ("==", "!=") and right.text == "None" and right.kind == "name":
            kind = "is"
        elif token.text in _RELATIONS and left.kind in ("binary", "chain") and left.text in _RELATIONS:
            return Part("chain", left.start, right.end, (*left.parts, right), token, token.text)
        return Part(kind, left.start, right.end, (left, right), token, token.text)

    def _lambda(self) -> Part:
        token = self._next()
        parameters: list[Part] = []
        while self._kind == "IDENT":
            name = self._next()
            parameters.append(Part("name", name.start, name.end, (), name, name.text))
            if self._kind != "COMMA":
                break
            self._next()
        self._next("COLON")
        body = self._expression()
        return Part("lambda", token.start, body.end, (*parameters, body), token, "lambda")

    def _unary(self) -> Part:
        if self._kind in ("BOTH", "PREFIX", "STEP", "CAST_OPEN"):
            token = self._next()
            if token.type == "CAST_OPEN":
                while self._next().type != "RPAR":
                    pass
            self._nesting += 1
            if self._nesting > MAX_NESTING:
                raise _NotUnderstoodError
            operand = self._unary()
            self._nesting -= 1
            if token.text == "not":
                # as in Python: not (a is b)
                while self._kind == WORD and _LEVELS.get(self._text) == _COMPARISON:
                    operand = self._binary(operand, _COMPARISON)
            return Part("unary", token.start, operand.end, (operand,), token, token.text)
        operand = self._postfix(self._primary())
        # in C++, "^" is bitwise xor with lower precedence; an author who means a power expects the highest
        if self._kind != POWER and self._text != "^":
            return operand
        token = self._next()
        self._nesting += 1
        exponent = self._unary()
        self._nesting -= 1
        return Part("binary", operand.start, exponent.end, (operand, exponent), token, token.text)

    def _postfix(self, part: Part) -> Part:
        while True:
            kind = self._kind
            if kind == "LPAR":
                token = self._next()
                arguments = self._items("RPAR", self._argument)
                part = Part("call", part.start, self._next("RPAR").end, (part, *arguments), token)
            elif kind == "LSQB":
                token = self._next()
                items = self._items("RSQB", self._subscript)
                part = Part("index", part.start, self._next("RSQB").end, (part, *items), token)
            elif kind == "ACCESS":
                self._next()
                name = self._next("IDENT")
                end = self._template(name.end)
                simple = name.text if end == name.end else ""
                part = Part("member", part.start, end, (part,), name, simple)
            elif kind == "LBRACE" and part.kind == "name":
                self._next()
                items = self._items("RBRACE", self._expression)
                part = Part("other", part.start, self._next("RBRACE").end, tuple(items))
            elif kind == "STEP":
                part = Part("other", part.start, self._next().end, (part,))
            else:
                return part

    def _items(self, closing: str, read: object) -> list[Part]:
        items: list[Part] = []
        while self._kind != closing:
            items.append(read())  # type: ignore[operator]
            if self._kind != "COMMA":
                break
            self._next()
        return items

    def _argument(self) -> Part:
        token = self._tokens[self._index] if self._index < len(self._tokens) else None
        if token is not None and self._kind == POWER:
            self._next()
            value = self._expression()
            return Part("unpacking", token.start, value.end, (value,), token, "**")
        if token is not None and self._kind == "IDENT" and self._index + 1 < len(self._tokens):
            following = self._tokens[self._index + 1]
            if following.text == "=":
                self._index += 2
                value = self._expression()
                whole = Token("KEYWORD_ARGUMENT", token.text, token.start, following.end)
                return Part("keyword", token.start, value.end, (value,), whole, token.text)
        value = self._expression()
        return self._comprehension(value.start, [value]) if (self._kind, self._text) == (WORD, "for") else value

    def _subscript(self) -> Part:
        first = None if self._kind == "COLON" else self._expression()
        if self._kind != "COLON":
            assert first is not None
            return first
        token = self._tokens[self._index]
        start = token.start if first is None else first.start
        bounds = [first]
        end = token.end
        while self._kind == "COLON" and len(bounds) < 3:
            end = self._next().end
            bound = None if self._kind in ("COLON", "COMMA", "RSQB") else self._expression()
            bounds.append(bound)
            end = end if bound is None else bound.end
        return Part("slice", start, end, tuple(bounds), token, ":")

    # ---- what expressions are made of

    def _primary(self) -> Part:
        kind = self._kind
        if kind in ("IDENT", "SCOPE"):
            return self._name()
        if kind in _CLOSED_BY:
            return self._bracketed(kind)
        if kind == "LAMBDA_RETURN":
            start = self._next().start
            body = self._expression()
            return Part("other", start, self._next("LAMBDA_END").end, (body,))
        token = self._next()
        simple: dict[str, Kind] = {
            "NUMBER": "number",
            PYTHON_STRING: "string",
            ELLIPSIS: "ellipsis",
            "LAMBDA": "other",
            "STRING": "other",
        }
        if token.type not in simple:
            raise _NotUnderstoodError
        end = token.end
        while token.type == "STRING" and self._kind == "STRING":
            end = self._next().end
        return Part(simple[token.type], token.start, end, (), token, token.text)

    def _bracketed(self, kind: str) -> Part:
        token = self._next()
        items = self._items(_CLOSED_BY[kind], self._expression)
        trailing = self._tokens[self._index - 1].type == "COMMA"
        if kind in ("LSQB", "LPAR") and (self._kind, self._text) == (WORD, "for"):
            comprehension = self._comprehension(token.start, items)
            comprehension.end = self._next(_CLOSED_BY[kind]).end
            return comprehension
        end = self._next(_CLOSED_BY[kind]).end
        if kind == "LPAR":
            made: Kind = "parentheses" if len(items) == 1 and not trailing else "tuple"
        else:
            made = "list" if kind == "LSQB" else "braces"
        return Part(made, token.start, end, tuple(items), token, token.text)

    def _comprehension(self, start: int, items: list[Part]) -> Part:
        """A comprehension or a generator, up to its closing bracket."""
        token = self._next()
        variable = self._name()
        self._word("in")
        source = self._expression()
        return Part("comprehension", start, source.end, (*items, variable, source), token, "for")

    def _name(self) -> Part:
        first = self._tokens[self._index]
        end = first.end
        while True:
            if self._kind == "SCOPE":
                self._next()
            name = self._next("IDENT")
            end = self._template(name.end)
            if self._kind != "SCOPE":
                break
        simple = first.text if end == first.end else ""
        return Part("name", first.start, end, (), first, simple)

    def _template(self, end: int) -> int:
        """The end of template arguments that follow, or ``end`` if there are none."""
        level = 0
        while self._kind == "TEMPLATE_OPEN" or level:
            token = self._next()
            level += (token.type == "TEMPLATE_OPEN") - (token.type == "TEMPLATE_CLOSE")
            end = token.end
        return end
