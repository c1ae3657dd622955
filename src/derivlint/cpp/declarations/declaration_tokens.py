"""The tokens of a header, without blanks, comments and preprocessor lines, with matched brackets.

Macros have unknown values, so all branches of an ``#if`` are read, except text disabled by ``#if 0``, and further
branches if the first one leaves a bracket open.
"""

from __future__ import annotations

import re

from derivlint.formula.vocabulary import Token

_BLANKS = r"[ \t\r\n\f\v]+|\\\r?\n"
_LINE_COMMENT = r"//(?:[^\n\\]|\\(?:\r?\n|.)?)*"
_COMMENT = r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/"
_STRING = r'"(?:[^"\\\n]|\\(?:\r?\n|.))*"'
#: One token with preceding blanks and comments. It matches at every position: OTHER is any character.
_TOKEN = re.compile(
    rf"""(?:{_BLANKS}|{_LINE_COMMENT}|{_COMMENT})*(?:"""
    # before words, since the prefix of a string looks like one
    rf"""(?P<STRING>(?:u8|[uUL])?(?:R"(?P<_end>[^()\\\s]{{0,16}})\((?s:.*?)\)(?P=_end)"|{_STRING}))"""
    r"""|(?P<IDENT>[A-Za-z_$][\w$]*)"""
    # before their one-character prefixes; ">>" is not a token, since it may close two template arguments
    r"""|(?P<OPERATOR>(?:[-+*/%^&|!=]|<<)=|<=>?|>=|<<|\|\||\+\+|--)"""
    r"""|(?P<LPAR>\()|(?P<RPAR>\))|(?P<COMMA>,)|(?P<SCOPE>::)|(?P<SEMICOLON>;)"""
    r"""|(?P<LBRACE>\{)|(?P<RBRACE>\})|(?P<LSQB>\[)|(?P<RSQB>\])|(?P<LESS><)|(?P<GREATER>>)"""
    r"""|(?P<POINTER>&&|[&*])|(?P<EQUAL>=)|(?P<ARROW>->)|(?P<COLON>:)|(?P<ELLIPSIS>\.\.\.)"""
    r"""|(?P<NUMBER>\.?[0-9](?:[eEpP][+-]|'?\w|\.)*)"""
    r"""|(?P<CHAR>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')"""
    # "#define X \" and comments continue on the next line
    rf"""|(?P<DIRECTIVE>\#(?:[^\n\\/"]|\\\r?\n|\\|{_STRING}|"|{_LINE_COMMENT}|{_COMMENT}|/)*)"""
    r"""|(?P<UNCLOSED>/\*)"""
    r"""|(?P<END>\Z)"""
    r"""|(?P<OTHER>(?s:.)))"""
)

_CLOSING = {"RPAR": "LPAR", "RBRACE": "LBRACE", "RSQB": "LSQB"}
_OPENING = frozenset(_CLOSING.values())

_WORDS = {
    "CV": "const volatile",
    "BUILTIN": "auto bool char char8_t char16_t char32_t double float int long short signed unsigned void wchar_t",
    "SPECIFIER": "constexpr consteval constinit explicit export extern friend inline mutable private protected public "
    "register static thread_local virtual __inline __inline__ __forceinline",
    "CLASS": "class struct union",
    "ENUM": "enum",
    "TYPENAME": "typename",
    "TEMPLATE": "template",
    "NAMESPACE": "namespace",
    "USING": "using",
    "TYPEDEF": "typedef",
    # keywords that only occur in statements and expressions
    "STATEMENT": "break case catch continue default delete do else false for goto if new nullptr return sizeof switch "
    "this true try while",
}
_WORD_TYPES = {word: type for type, text in _WORDS.items() for word in text.split()}


class Tokens:
    """The tokens of a text.

    Attributes:
        items: the tokens.
        closing: the index of the closing bracket, by the index of the opening one.
        unmatched: unmatched brackets, and an unterminated comment.
    """

    __slots__ = ("closing", "items", "unmatched")

    def __init__(self, text: str) -> None:
        self.items: list[Token] = []
        self.closing: dict[int, int] = {}
        self.unmatched: list[Token] = []
        self._read(text)

    def _read(self, text: str) -> None:
        items = self.items
        scan = _TOKEN.match
        word_types = _WORD_TYPES
        position = 0
        stack: list[int] = []
        conditions = _Conditions()
        while True:
            match = scan(text, position)
            # the pattern matches everywhere; "lastgroup" is the outermost group, the token type
            if match is None or (kind := match.lastgroup) is None or kind == "END":
                break
            start, position = match.span(kind)
            if kind == "DIRECTIVE":
                conditions.read(text[start:position], stack)
                continue
            if kind == "UNCLOSED":
                self.unmatched.append(Token(kind, text[start:position], start, position))
                break
            if conditions.is_off:
                continue
            token = Token(kind, text[start:position], start, position)
            if kind == "IDENT":
                token.type = word_types.get(token.text, kind)
            elif kind in _OPENING:
                stack.append(len(items))
            elif kind in _CLOSING:
                self._close(stack, token)
            items.append(token)
        self.unmatched.extend(items[index] for index in stack)

    def _close(self, stack: list[int], token: Token) -> None:
        opening = _CLOSING[token.type]
        for depth in range(len(stack) - 1, max(-1, len(stack) - _FORGIVEN), -1):
            if self.items[stack[depth]].type == opening:
                self.closing[stack[depth]] = len(self.items)
                self.unmatched.extend(self.items[index] for index in stack[depth + 1 :])
                del stack[depth:]
                return
        self.unmatched.append(token)


#: The maximum number of open brackets that a closing one may skip to find its partner.
_FORGIVEN = 16

_DIRECTIVE = re.compile(r"#\s*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b\s*(\S*)")


class _Conditions:
    """Selects the branches of preprocessor conditionals to read."""

    def __init__(self) -> None:
        # for each open "#if": the innermost open bracket at that point, and whether it is "#if 0"
        self._open: list[tuple[int, bool]] = []
        self._off_at: int | None = None

    @property
    def is_off(self) -> bool:
        return self._off_at is not None

    def read(self, text: str, stack: list[int]) -> None:
        match = _DIRECTIVE.match(text)
        if match is None:
            return
        word = match[1]
        depth = len(self._open)
        if word.startswith("if"):
            is_zero = word == "if" and match[2] in ("0", "false")
            self._open.append((stack[-1] if stack else -1, is_zero))
            if is_zero and self._off_at is None:
                self._off_at = depth
        elif depth == 0:
            return
        elif word == "endif":
            self._open.pop()
            if self._off_at is not None and self._off_at >= depth - 1:
                self._off_at = None
        elif self._off_at is None:
            if self._open[-1][0] != (stack[-1] if stack else -1):
                self._off_at = depth - 1
        elif self._off_at == depth - 1 and self._open[-1][1]:
            # the branch after "#if 0"
            self._open[-1] = (self._open[-1][0], False)
            self._off_at = None
