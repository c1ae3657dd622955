"""The pass between lexer and parser: convert a declaration to the tokens of ``grammar/declarations.lark``.

Expressions become one token, attributes and macros are dropped, and ``<`` outside expressions is marked as opening
template arguments.
"""

from __future__ import annotations

from msgspec import Struct, field

from derivlint.cpp.declarations.declaration_syntax import MACRO_LIKE, SPECIAL
from derivlint.cpp.declarations.declaration_tokens import Tokens
from derivlint.formula.vocabulary import Token, words

#: Attributes that do not affect types, with or without arguments in parentheses.
_ATTRIBUTES = frozenset({"__attribute__", "__declspec", "alignas", "noexcept", "throw", "_Alignas"})
#: Words after the parameters of a function; any other word there is a macro.
_TRAILING = frozenset({"override", "final", "noexcept", "requires"})
#: The maximum number of tokens in template arguments, which bounds the search for their end.
MAX_ARGUMENTS = 1000
#: The tokens that may follow a macro before a declaration.
_BEGINNINGS = words("IDENT BUILTIN SPECIFIER SCOPE CV CLASS ENUM TYPENAME TEMPLATE USING TYPEDEF LSQB")


class Marked(Struct):
    """A declaration for the parser.

    Attributes:
        tokens: the tokens for the parser.
        deprecated: the message of its deprecation, possibly empty; None if it is not deprecated.
        is_constrained: whether its template has a ``requires`` clause.
        has_macros: whether a macro with arguments, which may declare something, precedes it.
        is_friend: whether it is a friend declaration, which belongs to another scope.
    """

    tokens: list[Token] = field(default_factory=list)
    deprecated: str | None = None
    is_constrained: bool = False
    has_macros: bool = False
    is_friend: bool = False


def mark(text: str, source: Tokens, start: int, end: int, *, is_head: bool = False, class_name: str = "") -> Marked:
    """Prepare a declaration for the parser.

    Args:
        text: the text of the header.
        source: its tokens.
        start: the first token.
        end: after the last token.
        is_head: whether it is the head of a class or a namespace, or an enumeration with its enumerators.
        class_name: the enclosing class, or empty; constructors have its name.
    """
    marker = _Marker(text, source, start, end, is_head, class_name)
    marker.run()
    return marker.marked


class _Marker:
    def __init__(self, text: str, source: Tokens, start: int, end: int, is_head: bool, class_name: str) -> None:
        self._text = text
        self._items = source.items
        self._closing = source.closing
        self._at = start
        self._end = end
        self._is_head = is_head
        self._class_name = class_name
        self.marked = Marked()
        self._out = self.marked.tokens
        # whether a type or name was read, so that parentheses contain parameters rather than a macro's arguments
        self._has_words = False
        # the ends of open parentheses and of the angle brackets of template heads
        self._open: list[int] = []
        self._heads: list[int] = []
        self._has_parameters = False
        self._keyword = ""

    def run(self) -> None:
        while self._at < self._end:
            self._step(self._items[self._at])

    # ---- output

    def _emit(self, type: str, first: int, last: int) -> None:
        """Emit one token that covers those from ``first`` to ``last``."""
        begin, finish = self._items[first], self._items[last]
        text = begin.text if first == last else self._text[begin.start : finish.end]
        self._out.append(Token(type, text, begin.start, finish.end))
        self._at = last + 1

    def _keep(self) -> None:
        self._out.append(self._items[self._at])
        self._at += 1

    def _type_at(self, index: int) -> str:
        return self._items[index].type if index < self._end else ""

    def _group(self, index: int) -> int:
        """The index after the bracket group that opens at a token, or after the token if the group is unclosed."""
        closing = self._closing.get(index, index)
        return min(closing, self._end - 1) + 1

    # ---- steps

    def _step(self, token: Token) -> None:
        kind = token.type
        if kind == "IDENT":
            self._word(token)
        elif kind == "SCOPE":
            self._scope(token)
        elif kind == "LESS":
            self._less()
        elif kind == "GREATER" and self._heads and self._heads[-1] == self._at:
            self._heads.pop()
            self._emit("RANGLE", self._at, self._at)
            self._has_words = False
            self._requires_clause()
        elif kind in ("LPAR", "RPAR"):
            self._parenthesis(kind)
        elif kind == "EQUAL":
            self._equal()
        elif kind == "LSQB":
            self._square()
        elif kind == "LBRACE" and not self._is_head:
            self._emit("DEFAULT", self._at, self._group(self._at) - 1)
        elif kind == "COLON" and not self._is_head:
            self._colon()
        elif kind == "TEMPLATE":
            self._template()
        elif kind == "STRING":
            self._string()
        elif kind == "TYPEDEF" and self._is_head:
            # "typedef struct Node { ... } Node;"
            self._at += 1
        elif kind in ("USING", "NAMESPACE", "TYPEDEF"):
            self._keyword = self._keyword or kind
            self._keep()
        elif kind == "SPECIFIER":
            self._specifier(token)
        elif kind == "TYPENAME" and self._keyword == "USING":
            self._at += 1
        elif token.text == "~" and self._type_at(self._at + 1) == "IDENT" and not self._open:
            self._emit(SPECIAL, self._at, self._at + 1)
        else:
            self._has_words = self._has_words or kind in ("BUILTIN", "CLASS", "ENUM")
            self._keep()

    def _word(self, token: Token) -> None:
        word, at = token.text, self._at
        follows = self._type_at(at + 1)
        if word in _ATTRIBUTES:
            self._note_deprecation(at)
            self._at = self._group(at + 1) if follows == "LPAR" else at + 1
        elif word == "decltype" and follows == "LPAR":
            self._has_words = True
            self._at = self._group(at + 1)
            self._out.append(Token("BUILTIN", "auto", token.start, self._items[self._at - 1].end))
        elif word == "operator":
            self._operator()
        elif word == "requires" and self._has_parameters:
            self.marked.is_constrained = True
            self._at = self._end
        elif self._is_after_parameters and follows != "LPAR" and not MACRO_LIKE.match(word) and word not in _TRAILING:
            # the type of the next declaration, after a missing semicolon
            self._keep()
        elif self._is_after_parameters or (self._is_head and word == "final" and self._has_words):
            # "override", "final", and macros
            self._at = self._group(at + 1) if follows == "LPAR" else at + 1
        elif follows == "LPAR" and self._is_macro(word):
            self._note_deprecation(at)
            self.marked.has_macros = self.marked.has_macros or self.marked.deprecated is None
            self._at = self._group(at + 1)
        elif self._is_head and self._keyword == "" and follows == "LPAR" and not self._open:
            # "struct ALIGNED(8) Vector {"
            self._at = self._group(at + 1)
        else:
            self._has_words = self._has_words or not MACRO_LIKE.match(word)
            if "DEPRECATED" in word:
                self._note_deprecation(at)
            self._keep()

    @property
    def _is_after_parameters(self) -> bool:
        return self._has_parameters and not self._open and not self._is_trailing

    @property
    def _is_trailing(self) -> bool:
        return any(token.type == "ARROW" for token in self._out[-8:])

    def _is_macro(self, word: str) -> bool:
        """Whether a word before parentheses is a macro: only macros may precede the declaration."""
        if self._has_words or self._open or word == self._class_name:
            return False
        behind = self._group(self._at + 1)
        return self._type_at(behind) in _BEGINNINGS and self._items[behind].text not in _TRAILING

    def _operator(self) -> None:
        """Consume ``operator+`` up to its parameters, ``operator()`` included."""
        first = last = self._at
        if self._type_at(first + 1) == "LPAR" and self._type_at(first + 2) == "RPAR":
            last = first + 2
        else:
            while last + 1 < self._end and self._items[last + 1].type != "LPAR":
                last += 1
        self._has_words = True
        self._emit(SPECIAL, first, last)

    def _specifier(self, token: Token) -> None:
        self.marked.is_friend = self.marked.is_friend or token.text == "friend"
        if self._keyword == "NAMESPACE":
            # "namespace a::inline v1"
            self._at += 1
        elif token.text == "explicit" and self._type_at(self._at + 1) == "LPAR":
            self._at = self._group(self._at + 1)
        else:
            self._keep()

    def _scope(self, token: Token) -> None:
        previous = self._out[-1] if self._out else None
        if previous is not None and previous.type in ("IDENT", "TEMPLATE_ARGS", SPECIAL):
            # "TORCH_API ::std::tuple<...>" is not a name in TORCH_API
            continues = previous.end == token.start or not MACRO_LIKE.match(previous.text)
            self._emit("SCOPE" if continues else "ROOT", self._at, self._at)
        else:
            self._emit("ROOT", self._at, self._at)
        if self._type_at(self._at) == "TEMPLATE":
            self._at += 1

    def _less(self) -> None:
        closing = self._angle_end(self._at)
        if closing is None or not self._out or self._out[-1].type != "IDENT":
            self._keep()
        else:
            self._emit("TEMPLATE_ARGS", self._at, closing)

    def _template(self) -> None:
        closing = self._angle_end(self._at + 1) if self._type_at(self._at + 1) == "LESS" else None
        self._keep()
        if closing is not None:
            self._emit("LANGLE", self._at, self._at)
            self._heads.append(closing)

    def _requires_clause(self) -> None:
        """Skip ``requires (N > 0) && std::integral<T>`` after a template head."""
        if self._at >= self._end or self._items[self._at].text != "requires":
            return
        self.marked.is_constrained = True
        self._at += 1
        while self._at < self._end:
            if self._type_at(self._at) == "LPAR":
                self._at = self._group(self._at)
            else:
                while self._type_at(self._at) in ("IDENT", "SCOPE"):
                    is_word = self._type_at(self._at) == "IDENT"
                    self._at += 1
                    if is_word and self._type_at(self._at) == "LESS":
                        self._at = (self._angle_end(self._at) or self._at) + 1
                    if is_word and self._type_at(self._at) != "SCOPE":
                        break
            joined = self._type_at(self._at) == "POINTER" and self._items[self._at].text == "&&"
            if not joined and (self._at >= self._end or self._items[self._at].text != "||"):
                return
            self._at += 1

    def _parenthesis(self, kind: str) -> None:
        if kind == "LPAR":
            self._open.append(self._closing.get(self._at, -1))
        elif self._open:
            self._open.pop()
            self._has_parameters = self._has_parameters or not self._open
        self._keep()

    def _equal(self) -> None:
        if not self._open and not self._heads and self._keyword in ("USING", "NAMESPACE"):
            self._keep()
            return
        first = self._at
        last = self._expression_end(first + 1) - 1
        is_delete = last == first + 1 and self._items[last].text == "delete"
        self._emit("DELETE" if is_delete else "DEFAULT", first, last)

    def _expression_end(self, index: int) -> int:
        """The index of the comma or closing bracket after an expression."""
        limit = self._heads[-1] if self._heads else self._end
        while index < limit:
            kind = self._items[index].type
            if kind in ("COMMA", "RPAR", "RBRACE", "RSQB"):
                return index
            if kind in ("LPAR", "LBRACE", "LSQB"):
                index = self._group(index)
            elif kind == "LESS" and (closing := self._angle_end(index)) is not None and self._ends_type(closing):
                index = closing + 1
            else:
                index += 1
        return limit

    def _ends_type(self, closing: int) -> bool:
        """Whether a ">" in an expression closes template arguments, judging by the next token."""
        return self._type_at(closing + 1) in ("LPAR", "LBRACE", "SCOPE", "COMMA", "RPAR", "RBRACE", "GREATER", "")

    def _angle_end(self, index: int) -> int | None:
        """The index of the ">" that closes a "<", or None if it is an operator or unclosed."""
        depth = 0
        limit = min(self._end, index + MAX_ARGUMENTS)
        while index < limit:
            kind = self._items[index].type
            if kind == "LESS":
                depth += 1
            elif kind == "GREATER":
                depth -= 1
                if depth == 0:
                    return index
            elif kind in ("LPAR", "LBRACE", "LSQB"):
                index = self._group(index) - 1
            elif kind in ("RPAR", "RBRACE", "RSQB", "SEMICOLON"):
                return None
            index += 1
        return None

    def _square(self) -> None:
        behind = self._group(self._at)
        if self._type_at(self._at + 1) == "LSQB":
            self._note_deprecation(self._at, behind)
            self._at = behind
        else:
            self._emit("ARRAY", self._at, behind - 1)

    def _colon(self) -> None:
        if self._has_parameters:
            # the initializers of a constructor
            self._at = self._end
            return
        # the width of a bit field
        self._at += 1
        while self._at < self._end and self._type_at(self._at) not in ("COMMA", "EQUAL", "LBRACE"):
            self._at += 1

    def _string(self) -> None:
        if self._is_head and self._type_at(self._at + 1) == "LBRACE":
            self._keep()
        elif self._out and self._out[-1].text == "extern":
            self._at += 1
        else:
            self._keep()

    def _note_deprecation(self, first: int, behind: int | None = None) -> None:
        """Record a deprecation and its message."""
        if behind is None:
            behind = self._group(first + 1) if self._type_at(first + 1) == "LPAR" else first + 1
        items = self._items[first:behind]
        if any("deprecated" in item.text.lower() for item in items if item.type == "IDENT"):
            strings = [item.text for item in items if item.type == "STRING"]
            self.marked.deprecated = "".join(text[text.find('"') + 1 : -1] for text in strings)
