"""Explain why a text does not parse.

Causes are tried from the most to the least visible: statements, brackets, adjacent tokens. If none applies, the error
is at the token that the parser rejected.
"""

from __future__ import annotations

from derivlint.formula.parsing.adjacency import adjacency_problem
from derivlint.formula.parsing.angles import TYPE_WORDS
from derivlint.formula.parsing.tokens import SyntaxProblem, SyntaxProblemKind
from derivlint.formula.vocabulary import DECLARATORS, KEYWORD, Token

_STATEMENT_HELP = {"return": 'keep only the expression after "return"', "if": 'write "condition ? a : b"'}


def diagnose(text: str, tokens: list[Token], fed: list[Token], culprit: Token) -> SyntaxProblem:
    """Return the problem of a text that does not parse.

    Args:
        text: the formula.
        tokens: its tokens without blanks and comments.
        fed: the tokens that were fed to the parser.
        culprit: the token that the parser rejected.
    """
    problem = _statement_problem(tokens) or bracket_problem(tokens) or adjacency_problem(text, fed)
    if problem is not None:
        return problem
    if culprit.type == "$END":
        last = tokens[-1] if tokens else culprit
        return SyntaxProblem(SyntaxProblemKind.UNEXPECTED, "the formula ends too early", last.start, last.end)
    written = text[culprit.start : culprit.end]
    kind = SyntaxProblemKind.STRAY_COMMA if written == "," else SyntaxProblemKind.UNEXPECTED
    return SyntaxProblem(kind, f'unexpected "{written}"', culprit.start, culprit.end)


def _statement_problem(tokens: list[Token]) -> SyntaxProblem | None:
    if not tokens:
        return None
    first = tokens[0]
    if first.type == KEYWORD and first.text not in ("new", "delete"):
        message = f'a formula must be a single expression, not a statement with "{first.text}"'
        return SyntaxProblem(
            SyntaxProblemKind.STATEMENT, message, first.start, first.end, _STATEMENT_HELP.get(first.text)
        )
    if first.text in TYPE_WORDS or first.text == "auto":
        index = 1
        while index < len(tokens) and (tokens[index].text in DECLARATORS or tokens[index].text in TYPE_WORDS):
            index += 1
        if index + 1 < len(tokens) and tokens[index].type == "IDENT" and tokens[index + 1].text in ("=", "(", "{"):
            name = tokens[index]
            message = f'a formula must be a single expression, not a declaration of "{name.text}"'
            return SyntaxProblem(SyntaxProblemKind.STATEMENT, message, first.start, name.end)
    return None


_OPENED_BY = {")": "(", "]": "[", "}": "{"}
_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}


def bracket_problem(tokens: list[Token]) -> SyntaxProblem | None:
    """The first unmatched bracket, or None."""
    stack: list[Token] = []
    for token in tokens:
        text = token.text
        if text in _CLOSED_BY:
            stack.append(token)
        elif text in _OPENED_BY:
            if not stack:
                message = f'"{text}" closes no "{_OPENED_BY[text]}"'
                return SyntaxProblem(SyntaxProblemKind.UNMATCHED_BRACKET, message, token.start, token.end)
            if stack[-1].text != _OPENED_BY[text]:
                return _wrong_partner(stack, token)
            stack.pop()
    if not stack:
        return None
    opening = stack[-1]
    unclosed = tuple((f'"{token.text}" is not closed either', token.start, token.end) for token in reversed(stack[:-1]))
    message = f'"{opening.text}" is never closed'
    help_text = f'add "{_CLOSED_BY[opening.text]}"'
    return SyntaxProblem(
        SyntaxProblemKind.UNCLOSED_BRACKET, message, opening.start, opening.end, help_text, unclosed[:3]
    )


def _wrong_partner(stack: list[Token], closing: Token) -> SyntaxProblem:
    opening = stack[-1]
    if any(opening.text == _OPENED_BY[closing.text] for opening in stack):
        # f(x[i) closes the outer bracket: the inner one was forgotten
        message = f'"{opening.text}" is not closed before "{closing.text}"'
        related = ((f'"{closing.text}" closes an outer bracket', closing.start, closing.end),)
        help_text = f'add "{_CLOSED_BY[opening.text]}"'
        return SyntaxProblem(
            SyntaxProblemKind.UNCLOSED_BRACKET, message, opening.start, opening.end, help_text, related
        )
    message = f'"{opening.text}" is closed by "{closing.text}"'
    related = ((f'"{opening.text}" opened here', opening.start, opening.end),)
    help_text = f'write "{_CLOSED_BY[opening.text]}"'
    return SyntaxProblem(SyntaxProblemKind.MISMATCHED_BRACKET, message, closing.start, closing.end, help_text, related)
