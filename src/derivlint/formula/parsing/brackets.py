"""Brackets that do not pair."""

from __future__ import annotations

from derivlint.formula.problem import SyntaxProblem, SyntaxProblemKind
from derivlint.formula.vocabulary import Token

_OPENED_BY = {")": "(", "]": "[", "}": "{"}
_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}


def bracket_problem(tokens: list[Token]) -> SyntaxProblem | None:
    """The first bracket without partner, or None where all pair."""
    stack: list[Token] = []
    for token in tokens:
        text = token.text
        if text in _CLOSED_BY:
            stack.append(token)
        elif text in _OPENED_BY:
            if not stack:
                message = f'"{text}" has no "{_OPENED_BY[text]}" that it closes'
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
