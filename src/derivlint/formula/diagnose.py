"""placeholder."""
from __future__ import annotations
from derivlint.formula.formula import SyntaxProblem
from derivlint.formula.tokens import Token
def lexical_problem(text: str, everything: list[Token], significant: list[Token]) -> SyntaxProblem | None:
    if not significant:
        return SyntaxProblem("empty", "empty", 0, len(text))
    if significant[-1].type == "SEMICOLON":
        return SyntaxProblem("trailing-semicolon", "semi", significant[-1].start, significant[-1].end)
    return None
def diagnose(text: str, tokens: list[Token], fed: list[Token], culprit: Token) -> SyntaxProblem:
    return SyntaxProblem("unexpected", f'unexpected "{culprit.text}"', culprit.start, culprit.end)
