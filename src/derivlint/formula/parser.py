"""Parses formulas with the grammar in ``grammar/formula.lark``."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from derivlint.formula.angles import mark_angles, mark_casts
from derivlint.formula.diagnose import diagnose
from derivlint.formula.formula import Formula
from derivlint.formula.grammar_tables import lark
from derivlint.formula.lambdas import LambdaInfo, mark_lambdas
from derivlint.formula.lexical import lexical_problem
from derivlint.formula.nodes import depth
from derivlint.formula.problem import SyntaxProblem
from derivlint.formula.suspicious import suspicious_problem
from derivlint.formula.tokens import SEMICOLON, TRIVIA, Token, tokens

if TYPE_CHECKING:
    from derivlint.formula.nodes import Expr

#: Deeper trees are refused, so that code that walks a tree may use recursion.
MAX_DEPTH = 200


@lru_cache(maxsize=65536)
def parse_formula(text: str) -> Formula:
    """The formula written ``text``; never raises, what is wrong with it is in ``problems``."""
    everything = tokens(text)
    significant = [token for token in everything if token.type not in TRIVIA]
    problem = lexical_problem(text, everything, significant)
    expression = significant
    while expression and expression[-1].type == SEMICOLON:
        expression = expression[:-1]
    marked = mark_casts(mark_angles(expression))
    tree: Expr | None = None
    lambdas: list[LambdaInfo] = []
    if marked and (problem is None or problem.kind in _KEEPS_TREE):
        fed, lambdas = mark_lambdas(marked)
        tree, culprit = _parse(fed)
        # of two problems the cause is told: a comment that hides the closing bracket, not the missing bracket
        if culprit is not None:
            if problem is None or problem.kind == "trailing-semicolon":
                problem = diagnose(text, expression, fed, culprit)
        elif tree is not None:
            if len(marked) > MAX_DEPTH and depth(tree) > MAX_DEPTH:
                tree = None
                problem = SyntaxProblem("too-deep", f"nested more than {MAX_DEPTH} levels deep", 0, len(text))
            else:
                problem = problem or suspicious_problem(text, marked, tree)
    return Formula(text, tree, () if problem is None else (problem,), marked, lambdas)


#: Problems of a text that is otherwise an expression.
_KEEPS_TREE = frozenset({"trailing-semicolon", "line-comment", "bad-number"})


def _parse(fed: list[Token]) -> tuple[Expr | None, Token | None]:
    """The tree, or the token that the parser refused."""
    from lark.exceptions import UnexpectedToken

    state = cast("Any", lark().parse_interactive()).parser_state
    feed = state.feed_token
    end = fed[-1].end if fed else 0
    last = Token("$END", "", end, end)
    try:
        for token in fed:
            feed(token)
        return feed(last, True), None
    except UnexpectedToken as error:
        return None, cast("Token", error.token)
