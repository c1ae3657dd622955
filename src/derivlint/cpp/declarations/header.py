"""Read the declarations of a header, or of a stub file in C++ syntax.

A header is split into declarations by its brackets, and each is parsed separately. A declaration that the grammar
rejects is recorded by name only and does not affect the others.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import Struct

from derivlint.cpp.declarations.declaration import Declarations
from derivlint.cpp.declarations.declaration_marks import MAX_ARGUMENTS, Marked, mark
from derivlint.cpp.declarations.declaration_reader import DeclarationScope, Reader, likely_name
from derivlint.cpp.declarations.declaration_syntax import FunctionSyntax
from derivlint.cpp.declarations.declaration_tokens import Tokens
from derivlint.formula.parsing.grammar_tables import fed_parser
from derivlint.formula.vocabulary import Token
from derivlint.source import Span

if TYPE_CHECKING:
    from lark import Lark

    from derivlint.cpp.declarations.declaration_syntax import Syntax


@cache
def lark() -> Lark:
    """The LALR parser; its values are those of :class:`DeclarationBuilder`.

    Lark is imported on first use: indexed declarations need no parser.
    """
    from derivlint.cpp.declarations.declaration_builder import DeclarationBuilder

    return fed_parser("declarations", DeclarationBuilder(), maybe_placeholders=True)


def parse_declaration(tokens: list[Token]) -> Syntax | Token:
    """Parse a declaration; on an error, return the offending token, ``$END`` for an incomplete declaration."""
    from lark.exceptions import UnexpectedToken

    state = cast("Any", lark().parse_interactive()).parser_state
    feed = state.feed_token
    end = tokens[-1].end if tokens else 0
    try:
        for token in tokens:
            feed(token)
        return cast("Syntax", feed(Token("$END", "", end, end), True))
    except UnexpectedToken as error:
        return cast("Token", error.token)


class HeaderProblem(NamedTuple):
    """A part of a header that could not be read.

    Attributes:
        message: the fact.
        span: its span.
        help: the cure, and the consequence for checks.
        hides: whether declarations after it may be missing.
    """

    message: str
    span: Span
    help: str
    hides: bool = False


class HeaderReading(Struct, frozen=True):
    """The declarations of a header, and the unreadable ones in source order."""

    declarations: Declarations
    problems: tuple[HeaderProblem, ...] = ()


def read_declarations(text: str, default_namespace: str = "") -> HeaderReading:
    """The declarations of a header; never raises.

    Args:
        text: the text of the header.
        default_namespace: the namespace of declarations at file scope.
    """
    return _HeaderReader(text, default_namespace).read()


#: The maximum nesting of namespaces and classes; deeper ones are skipped.
MAX_NESTING = 100
#: The maximum number of successive declarations without semicolon to split.
MAX_JOINED = 16
#: Statements that look like declarations and declare nothing.
_NO_DECLARATIONS = frozenset({"static_assert", "_Static_assert", "asm", "__asm__"})
#: The tokens that spell an operator.
_SIGNS = frozenset({"OPERATOR", "OTHER", "EQUAL", "LESS", "GREATER", "POINTER", "ARROW"})
#: The tokens that begin a declaration after a missing semicolon.
_BEGINNINGS = frozenset(
    {"IDENT", "BUILTIN", "SPECIFIER", "ROOT", "CV", "CLASS", "ENUM", "TEMPLATE", "USING", "NAMESPACE"}
)
#: Words that may appear between parameters and body.
_QUALIFIERS = frozenset({"const", "volatile", "noexcept", "override"})
#: The tokens that may precede the body of a class.
_ENDS_OF_HEADS = frozenset({"IDENT", "GREATER", "CLASS", "ELLIPSIS"})
_ACCESS = frozenset({"public", "protected", "private"})


class _HeaderReader:
    def __init__(self, text: str, default_namespace: str) -> None:
        self._text = text
        self._source = Tokens(text)
        self._items = self._source.items
        self._reader = Reader()
        self._problems: list[HeaderProblem] = []
        # unmatched brackets and comments, and the declarations that contain them
        self._unmatched = sorted(self._source.unmatched, key=lambda token: token.start)
        self._around_unmatched: dict[int, str] = {}
        self._scope = DeclarationScope(default_namespace)
        # the enclosing scopes
        self._around: list[DeclarationScope] = []
        # the first token of the current declaration, and whether its initializer has begun
        self._start = 0
        self._is_assigned = False
        # its last three tokens outside brackets, the types of all of these, and whether a colon follows the parameters
        self._last: list[Token] = []
        self._kinds: set[str] = set()
        self._has_initializers = False

    def read(self) -> HeaderReading:
        at = 0
        while at < len(self._items):
            at = self._step(at)
        self._leave_off(len(self._items))
        for token in self._unmatched:
            name = self._around_unmatched.get(token.start, "")
            message, cure = _UNMATCHED[token.type]
            help = f"{cure}; {_not_checked(name)}"
            self._problems.append(HeaderProblem(message, Span(token.start, token.end), help, hides=True))
        problems = sorted(self._problems, key=lambda problem: problem.span)
        return HeaderReading(self._reader.collector.declarations(), tuple(problems))

    # ---- splitting into declarations

    def _step(self, at: int) -> int:
        """Process one token; returns the index of the next one."""
        token = self._items[at]
        kind = token.type
        if kind == "LBRACE":
            return self._brace(at)
        self._kinds.add(kind)
        self._last = [*self._last[-2:], token]
        if kind in ("LPAR", "LSQB"):
            return self._behind(at)
        if kind == "IDENT":
            return at + 1 if token.text != "operator" else self._behind_operator(at)
        if kind == "SEMICOLON":
            self._declare(self._start, at)
            self._begin(at + 1)
        elif kind == "RBRACE":
            self._leave_off(at)
            if self._around:
                self._scope = self._around.pop()
            self._begin(at + 1)
        elif kind == "TEMPLATE" and at + 1 < len(self._items) and self._items[at + 1].type == "LESS":
            return self._behind_angles(at + 1)
        elif kind == "EQUAL":
            self._is_assigned = True
        elif kind == "COLON":
            self._has_initializers = self._has_initializers or "LPAR" in self._kinds
            word = self._items[at - 1].text
            # "public:", not the "public" of ": public Base"
            if word in _ACCESS and at > self._start and self._scope.owner is not None:
                self._leave_off(at - 1)
                self._scope.is_public = word == "public"
                self._begin(at + 1)
        return at + 1

    def _begin(self, at: int) -> None:
        self._start = at
        self._is_assigned = False
        self._last = []
        self._kinds = set()
        self._has_initializers = False

    def _behind(self, at: int) -> int:
        """The index after a bracket group, or after the bracket if the group is unclosed."""
        return self._source.closing.get(at, at) + 1

    def _behind_operator(self, at: int) -> int:
        """The index after ``operator``, ``operator=`` or ``operator()``, whose sign is not a delimiter."""
        if [item.type for item in self._items[at + 1 : at + 3]] == ["LPAR", "RPAR"]:
            return at + 3
        at += 1
        while at < len(self._items) and self._items[at].type in _SIGNS:
            at += 1
        return at

    def _behind_angles(self, at: int) -> int:
        depth = 0
        first = at
        limit = min(len(self._items), at + MAX_ARGUMENTS)
        while at < limit:
            kind = self._items[at].type
            if kind == "LESS":
                depth += 1
            elif kind == "GREATER":
                depth -= 1
                if depth == 0:
                    return at + 1
            elif kind in ("SEMICOLON", "RBRACE"):
                break
            at = self._behind(at) if kind in ("LPAR", "LSQB", "LBRACE") else at + 1
        return first + 1

    def _brace(self, at: int) -> int:
        """Process an opening brace: of a body, namespace, list or initializer."""
        behind = self._source.closing.get(at, len(self._items) - 1) + 1
        if self._is_assigned:
            return behind
        if at == self._start:
            self._begin(behind)
            return behind
        kinds = self._kinds
        previous = self._items[at - 1]
        if "NAMESPACE" in kinds or (previous.type == "STRING" and kinds == {"SPECIFIER", "STRING"}):
            return self._open(at, behind)
        # the parentheses may belong to a macro before it
        is_named = previous.type in ("IDENT", "BUILTIN") and previous.text not in _QUALIFIERS
        if "ENUM" in kinds and ("LPAR" not in kinds or is_named):
            self._declare(self._start, behind, is_head=True)
            self._begin(behind)
            return behind
        if "CLASS" in kinds and previous.type in _ENDS_OF_HEADS and previous.text not in _QUALIFIERS:
            return self._open(at, behind)
        if "LPAR" not in kinds or self._is_member_initializer(previous):
            return behind
        self._declare(self._start, at)
        self._begin(behind)
        return behind

    def _is_member_initializer(self, previous: Token) -> bool:
        """Whether a brace belongs to ``: first{1}, second{}`` of a constructor, or to a ``requires`` expression."""
        last = [token.text for token in self._last]
        if last[-1] == "requires" or last == ["requires", "requires", "("]:
            return True
        return self._has_initializers and previous.type in ("IDENT", "GREATER")

    def _open(self, at: int, behind: int) -> int:
        """Enter the body of a namespace or class."""
        inner = self._declare(self._start, at + 1, is_head=True)
        if inner is None or len(self._around) >= MAX_NESTING:
            self._begin(behind)
            return behind
        self._around.append(self._scope)
        self._scope = inner
        self._begin(at + 1)
        return at + 1

    def _leave_off(self, at: int) -> None:
        """End the scope or text; remaining tokens are a declaration without ";"."""
        if at <= self._start:
            return
        first, last = self._items[self._start], self._items[at - 1]
        marked = self._mark(self._start, at, False)
        if _is_macro_call(marked, self._scope):
            self._reader.take_macro(self._scope)
        elif marked.tokens and not marked.is_friend:
            name = self._reader.take_unreadable(self._scope, marked)
            where = Span(first.start, last.end)
            self._report(_without_semicolon(where, name), where, name)

    def _report(self, problem: HeaderProblem, declaration: Span, name: str) -> None:
        """Report a problem in a named declaration, unless an unmatched bracket or comment in it is the cause."""
        starts = [token.start for token in self._unmatched]
        first = bisect_left(starts, declaration.start)
        if first < len(starts) and (
            starts[first] < declaration.end or not self._text[declaration.end : starts[first]].strip()
        ):
            self._around_unmatched.setdefault(starts[first], name)
        else:
            self._problems.append(problem)

    # ---- single declarations

    def _mark(self, start: int, end: int, is_head: bool) -> Marked:
        return mark(self._text, self._source, start, end, is_head=is_head, class_name=self._scope.class_name)

    def _declare(self, start: int, end: int, *, is_head: bool = False, joined: int = 0) -> DeclarationScope | None:
        """Parse one declaration; return the scope that a head opens.

        Args:
            start: its first token.
            end: after its last token.
            is_head: whether it is the head of a class or a namespace, or an enumeration with its enumerators.
            joined: the number of preceding declarations without semicolon.
        """
        if self._declares_nothing(start, end):
            return None
        marked = self._mark(start, end, is_head)
        if marked.is_friend or not marked.tokens:
            return None
        if marked.has_macros or _is_macro_call(marked, self._scope):
            self._reader.take_macro(self._scope)
            if _is_macro_call(marked, self._scope):
                return None
        syntax = parse_declaration(marked.tokens)
        if isinstance(syntax, FunctionSyntax) and syntax.joined is not None:
            syntax = syntax.joined
        elif not isinstance(syntax, Token):
            return self._reader.take(syntax, self._scope, marked)
        middle = self._without_end(start, end, syntax) if joined < MAX_JOINED else None
        if middle is not None:
            return self._declare(middle, end, is_head=is_head, joined=joined + 1)
        name = self._reader.take_unreadable(self._scope, marked)
        subject = f"the declaration of {_quoted(name)}" if name else "the declaration"
        whole = Span(self._items[start].start, self._items[end - 1].end)
        help = f"correct it; {_not_checked(name)}"
        if syntax.type == "$END":
            self._report(HeaderProblem(f"cannot read {subject}: it ends too early", whole, help), whole, name)
        else:
            message = f"cannot read {subject}: unexpected {_quoted(_shortened(syntax.text))}"
            self._report(HeaderProblem(message, Span(syntax.start, syntax.end), help), whole, name)
        return None

    def _without_end(self, start: int, end: int, unexpected: Token) -> int | None:
        """Parse the first of two declarations with no semicolon between; return the start of the second, or None.

        Args:
            start: the first token.
            end: after the last token.
            unexpected: the token that the parser rejected.
        """
        middle = bisect_left(self._items, unexpected.start, start, end, key=lambda token: token.start)
        if unexpected.type not in _BEGINNINGS or not start < middle < end or self._items[middle - 1].type != "RPAR":
            return None
        marked = self._mark(start, middle, False)
        syntax = parse_declaration(marked.tokens)
        if isinstance(syntax, Token):
            return None
        self._reader.take(syntax, self._scope, marked)
        where = Span(self._items[start].start, self._items[middle - 1].end)
        name = likely_name(marked.tokens)
        self._report(_without_semicolon(where, name), where, name)
        return middle

    def _declares_nothing(self, start: int, end: int) -> bool:
        """Whether it is an assertion, an explicit instantiation or ``using enum``."""
        if start >= end:
            return True
        first = self._items[start]
        second = self._items[start + 1].type if start + 1 < end else ""
        return (
            first.text in _NO_DECLARATIONS
            or (first.type == "TEMPLATE" and second != "LESS")
            or (first.text == "extern" and second == "TEMPLATE")
            or (first.type == "USING" and second == "ENUM")
        )


def _without_semicolon(where: Span, name: str) -> HeaderProblem:
    subject = f"the declaration of {_quoted(name)}" if name else "the declaration"
    return HeaderProblem(f'{subject} ends without ";"', where, 'write ";" after it')


def _quoted(name: str) -> str:
    return f'"{name}"'


def _not_checked(name: str) -> str:
    """The consequence of an unreadable declaration; an unnamed one may declare any number of functions."""
    subject = f"calls of {_quoted(name)}" if name else "calls of what is declared after it"
    return f"{subject} are not checked until the header can be read"


#: The messages and helps for unmatched brackets and comments.
_UNMATCHED = {
    "LPAR": ('"(" is never closed', 'write ")" where it ends'),
    "LSQB": ('"[" is never closed', 'write "]" where it ends'),
    "LBRACE": ('"{" is never closed', 'write "}" where it ends'),
    "RPAR": ('")" closes nothing', "remove it, or open it"),
    "RSQB": ('"]" closes nothing', "remove it, or open it"),
    "RBRACE": ('"}" closes nothing', "remove it, or open it"),
    "UNCLOSED": ("a comment is never closed", 'write "*/" where it ends'),
}


def _is_macro_call(marked: Marked, scope: DeclarationScope) -> bool:
    """Whether a declaration is a bare ``WORD(...)`` that is not a constructor."""
    tokens = [token for token in marked.tokens if token.type != "SPECIFIER"]
    if len(tokens) < 3 or tokens[0].type != "IDENT" or tokens[1].type != "LPAR" or tokens[-1].type != "RPAR":
        return False
    depth = 0
    for token in tokens[1:-1]:
        depth += {"LPAR": 1, "RPAR": -1}.get(token.type, 0)
        if depth == 0:
            return False
    return tokens[0].text != scope.class_name


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 30 else f"{line[:27]}..."
