"""Says what is wrong with a text that the parser refuses.

The causes are tried in the order in which a person would see them: a statement, brackets, neighbours that do not fit.
Only what none of them explains is blamed on the token that the parser refused.
"""

from __future__ import annotations

from derivlint.formula.parsing.adjacency import adjacency_problem
from derivlint.formula.parsing.angles import TYPE_WORDS
from derivlint.formula.parsing.brackets import bracket_problem
from derivlint.formula.problem import SyntaxProblem, SyntaxProblemKind
from derivlint.formula.vocabulary import KEYWORD, Token

_STATEMENT_HELP = {"return": 'keep only the expression after "return"', "if": 'write "condition ? a : b"'}


def diagnose(text: str, tokens: list[Token], fed: list[Token], culprit: Token) -> SyntaxProblem:
    """The problem of a text that does not parse.

    Args:
        text: the formula.
        tokens: its tokens without blanks and comments.
        fed: the tokens as the parser got them.
        culprit: the token that the parser refused.
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
        while index < len(tokens) and (tokens[index].text in ("&", "*", "&&") or tokens[index].text in TYPE_WORDS):
            index += 1
        if index + 1 < len(tokens) and tokens[index].type == "IDENT" and tokens[index + 1].text in ("=", "(", "{"):
            name = tokens[index]
            message = f'a formula must be a single expression, not a declaration of "{name.text}"'
            return SyntaxProblem(SyntaxProblemKind.STATEMENT, message, first.start, name.end)
    return None
