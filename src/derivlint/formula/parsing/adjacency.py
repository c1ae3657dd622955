"""Detect adjacent tokens that do not fit: two operands, or two operators, side by side.

An expression alternates between positions where an operand must begin and positions where one has just ended. A scan
that tracks this state and the open brackets gives readable messages: "missing operator between a and b".
"""

from __future__ import annotations

from msgspec import Struct

from derivlint.formula.parsing.tokens import SyntaxProblem, SyntaxProblemKind
from derivlint.formula.vocabulary import KEYWORD, SEMICOLON, Token

_OPERATORS = frozenset({"BOTH", "BINARY", "PREFIX", "STEP"})
_LITERALS = frozenset({"NUMBER", "STRING", "CHAR", "LAMBDA"})
_CLOSING = frozenset({"RPAR", "RSQB", "RBRACE", "LAMBDA_END"})
_LISTS = frozenset({"call", "index", "braces"})


class _Open(Struct):
    """An open bracket, or a "?" that awaits its ":"."""

    kind: str
    token: Token


def adjacency_problem(text: str, tokens: list[Token]) -> SyntaxProblem | None:
    """The first pair of tokens that cannot be adjacent, or None."""
    return _TokenReader(text, tokens).read()


class _TokenReader:
    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.index = 0
        self.open: list[_Open] = []
        self.previous: Token | None = None

    def read(self) -> SyntaxProblem | None:
        wants_operand = True
        while self.index < len(self.tokens):
            token = self.tokens[self.index]
            result = self._operand(token) if wants_operand else self._operator(token)
            if isinstance(result, SyntaxProblem):
                return result
            wants_operand = result
            self.previous = self.tokens[self.index]
            self.index += 1
        if wants_operand:
            return self._missing_operand(None)
        return self._unfinished_conditional()

    # ---- where an operand must begin; the answer is whether one must still begin

    def _operand(self, token: Token) -> SyntaxProblem | bool:
        kind = token.type
        if kind in _LITERALS:
            return False
        if kind in ("IDENT", "SCOPE"):
            return self._name()
        if kind in ("BOTH", "PREFIX", "STEP"):
            return True
        if kind == "LAMBDA_RETURN":
            self.open.append(_Open("lambda", token))
            return True
        if kind == "CAST_OPEN":
            while self.tokens[self.index].type != "RPAR":
                self.index += 1
            return True
        if kind == "LPAR":
            self.open.append(_Open("parentheses", token))
            return True
        if kind == "LBRACE" and self._begins_item():
            self.open.append(_Open("braces", token))
            return True
        if kind == "LBRACE":
            message = "a braced list can only be an argument or follow the name of a type"
            return SyntaxProblem(SyntaxProblemKind.UNEXPECTED, message, token.start, token.end)
        if kind in _CLOSING:
            return self._close_without_operand(token)
        if kind in (KEYWORD, SEMICOLON):
            return _statement(token)
        if kind in ("COMMA", "COLON", "QUESTION", "BINARY", "ACCESS"):
            return self._missing_operand(token)
        if kind == "LSQB":
            help_text = "C++ writes lists as {a, b}"
            return SyntaxProblem(
                SyntaxProblemKind.MISSING_OPERAND, 'missing operand before "["', token.start, token.end, help_text
            )
        return SyntaxProblem(SyntaxProblemKind.UNEXPECTED, f'unexpected "{token.text}"', token.start, token.end)

    def _name(self) -> SyntaxProblem | bool:
        """Read a qualified name up to its end."""
        tokens = self.tokens
        while True:
            token = tokens[self.index]
            following = tokens[self.index + 1] if self.index + 1 < len(tokens) else None
            if token.type == "SCOPE" and (following is None or following.type != "IDENT"):
                return SyntaxProblem(
                    SyntaxProblemKind.MISSING_OPERAND, 'missing name after "::"', token.start, token.end
                )
            if following is None:
                return False
            if following.type == "TEMPLATE_OPEN":
                self._skip_template()
                following = tokens[self.index + 1] if self.index + 1 < len(tokens) else None
                if following is None or following.type != "SCOPE":
                    return False
            elif following.type != "SCOPE" and token.type != "SCOPE":
                return False
            self.index += 1

    def _skip_template(self) -> None:
        depth = 0
        while True:
            self.index += 1
            kind = self.tokens[self.index].type
            depth += (kind == "TEMPLATE_OPEN") - (kind == "TEMPLATE_CLOSE")
            if depth == 0:
                return

    def _begins_item(self) -> bool:
        previous = self.previous
        if previous is None or not self.open or self.open[-1].kind not in _LISTS:
            return False
        return previous.type in ("COMMA", "LPAR", "LSQB", "LBRACE")

    def _close_without_operand(self, token: Token) -> SyntaxProblem | bool:
        previous = self.previous
        if previous is not None and self.open and previous is self.open[-1].token:
            if self.open[-1].kind in ("call", "braces"):
                self.open.pop()
                return False
            brackets = "subscript" if token.text == "]" else "pair of parentheses"
            message = f'missing operand: empty {brackets} "{self.text[previous.start : token.end]}"'
            return SyntaxProblem(SyntaxProblemKind.MISSING_OPERAND, message, previous.start, token.end)
        if previous is not None and previous.type == "COMMA" and token.type == "RBRACE":
            self.open.pop()
            return False
        return self._missing_operand(token)

    def _missing_operand(self, token: Token | None) -> SyntaxProblem:
        """The problem of a missing operand before ``token`` or at the end."""
        previous = self.previous
        if previous is not None and (previous.type == "COMMA" or (token is not None and token.text == ",")):
            return self._stray_comma(previous, token)
        if token is None:
            assert previous is not None
            message = f'missing operand after "{previous.text}"'
            return SyntaxProblem(SyntaxProblemKind.MISSING_OPERAND, message, previous.start, previous.end)
        if previous is not None and (previous.type in _OPERATORS or previous.type in ("QUESTION", "COLON")):
            if token.type in _CLOSING:
                message = f'missing operand after "{previous.text}"'
                return SyntaxProblem(SyntaxProblemKind.MISSING_OPERAND, message, previous.start, previous.end)
            message = f'missing operand between "{previous.text}" and "{token.text}"'
            return SyntaxProblem(SyntaxProblemKind.MISSING_OPERAND, message, token.start, token.end)
        if token.text == ",":
            return SyntaxProblem(
                SyntaxProblemKind.STRAY_COMMA, 'nothing comes before ","', token.start, token.end, 'remove the ","'
            )
        return SyntaxProblem(
            SyntaxProblemKind.MISSING_OPERAND, f'missing operand before "{token.text}"', token.start, token.end
        )

    def _stray_comma(self, previous: Token, token: Token | None) -> SyntaxProblem:
        if previous.type in _OPERATORS or previous.type in ("QUESTION", "COLON"):
            message = f'missing operand after "{previous.text}"'
            return SyntaxProblem(SyntaxProblemKind.MISSING_OPERAND, message, previous.start, previous.end)
        if previous.type != "COMMA":
            assert token is not None
            message = f'nothing is between "{previous.text}" and ","'
            return SyntaxProblem(SyntaxProblemKind.STRAY_COMMA, message, token.start, token.end, 'remove the ","')
        where = "at the end" if token is None else f'between "," and "{token.text}"'
        if token is not None and token.type not in _CLOSING and token.type != "COMMA":
            message = f'missing operand before "{token.text}"'
            return SyntaxProblem(SyntaxProblemKind.MISSING_OPERAND, message, token.start, token.end)
        offending = token if token is not None and token.type == "COMMA" else previous
        message = 'nothing comes after ","' if token is None else f"nothing is {where}"
        return SyntaxProblem(SyntaxProblemKind.STRAY_COMMA, message, offending.start, offending.end, 'remove the ","')

    # ---- where an operand has just ended; the answer is whether one must begin now

    def _operator(self, token: Token) -> SyntaxProblem | bool:
        kind = token.type
        if kind in ("BOTH", "BINARY"):
            return True
        if kind == "STEP":
            return False
        if kind in ("LPAR", "LSQB"):
            self.open.append(_Open("call" if kind == "LPAR" else "index", token))
            return True
        if kind == "LBRACE" and self.previous is not None and self.previous.type in ("IDENT", "TEMPLATE_CLOSE"):
            self.open.append(_Open("braces", token))
            return True
        if kind == "ACCESS":
            return self._member(token)
        if kind == "STRING" and self.previous is not None and self.previous.type == "STRING":
            return False
        if kind == "QUESTION":
            self.open.append(_Open("conditional", token))
            return True
        if kind == "COLON":
            return self._colon(token)
        if kind in _CLOSING:
            problem = self._unfinished_conditional()
            if problem is None:
                self.open.pop()
            return problem or False
        if kind == "COMMA":
            return self._comma(token)
        if kind == SEMICOLON or (kind == KEYWORD and token.text not in ("if", "else", "new", "delete")):
            return _statement(token)
        if kind == "SCOPE":
            return SyntaxProblem(SyntaxProblemKind.UNEXPECTED, '"::" does not follow a name', token.start, token.end)
        return self._missing_operator(token)

    def _member(self, token: Token) -> SyntaxProblem | bool:
        following = self.tokens[self.index + 1] if self.index + 1 < len(self.tokens) else None
        if following is None or following.type != "IDENT":
            return SyntaxProblem(
                SyntaxProblemKind.MISSING_OPERAND, f'missing name after "{token.text}"', token.start, token.end
            )
        self.index += 1
        if self.index + 1 < len(self.tokens) and self.tokens[self.index + 1].type == "TEMPLATE_OPEN":
            self._skip_template()
        return False

    def _colon(self, token: Token) -> SyntaxProblem | bool:
        if self.open and self.open[-1].kind == "conditional":
            self.open.pop()
            return True
        help_text = None
        if self.open and self.open[-1].kind == "index":
            help_text = "C++ has no slices, call slice(dim, start, end)"
        return SyntaxProblem(
            SyntaxProblemKind.MISSING_QUESTION, '":" without a "?" before it', token.start, token.end, help_text
        )

    def _comma(self, token: Token) -> SyntaxProblem | bool:
        problem = self._unfinished_conditional()
        if problem is not None:
            return problem
        if self.open and self.open[-1].kind in _LISTS:
            return True
        if self.open and self.open[-1].kind == "parentheses":
            return True
        message = 'a formula must be a single expression: "," is outside of a call'
        return SyntaxProblem(SyntaxProblemKind.STRAY_COMMA, message, token.start, token.end)

    def _unfinished_conditional(self) -> SyntaxProblem | None:
        if not self.open or self.open[-1].kind != "conditional":
            return None
        question = self.open[-1].token
        return SyntaxProblem(
            SyntaxProblemKind.MISSING_COLON, '"?" without a ":" after it', question.start, question.end
        )

    def _missing_operator(self, token: Token) -> SyntaxProblem:
        previous = self.previous
        assert previous is not None
        in_list = bool(self.open) and self.open[-1].kind in _LISTS
        missing = "operator or comma" if in_list else "operator"
        before = self._text(previous)
        help_text = None
        if token.text in ("if", "else"):
            help_text = 'C++ writes "condition ? a : b"'
        message = f'missing {missing} between "{before}" and "{self._text(token)}"'
        return SyntaxProblem(SyntaxProblemKind.MISSING_OPERATOR, message, token.start, token.end, help_text)

    def _text(self, token: Token) -> str:
        return self.text[token.start : token.end] if token.type.startswith("LAMBDA") else token.text


def _statement(token: Token) -> SyntaxProblem:
    if token.type == SEMICOLON:
        message = 'a formula must be a single expression: ";" ends a statement'
    elif token.text in ("new", "delete"):
        message = f'"{token.text}" has no place in a formula'
    else:
        message = f'a formula must be a single expression, not a statement with "{token.text}"'
    return SyntaxProblem(SyntaxProblemKind.STATEMENT, message, token.start, token.end)
