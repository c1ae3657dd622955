"""Parses formulas with the grammar in ``grammar/formula.lark``."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from derivlint.formula.angles import mark_angles, mark_casts
from derivlint.formula.diagnose import diagnose, lexical_problem
from derivlint.formula.formula import Formula, SyntaxProblem
from derivlint.formula.grammar_tables import lark
from derivlint.formula.lambdas import LambdaInfo, mark_lambdas
from derivlint.formula.nodes import depth
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
    stripped = significant
    while stripped and stripped[-1].type == SEMICOLON:
        stripped = stripped[:-1]
    marked = mark_casts(mark_angles(stripped))
    tree: Expr | None = None
    lambdas: list[LambdaInfo] = []
    if problem is None or problem.kind in _KEEPS_TREE:
        fed, lambdas = mark_lambdas(marked)
        tree, culprit = _parse(fed)
        if culprit is not None:
            problem = diagnose(text, stripped, fed, culprit) if problem is None or tree is None else problem
        elif tree is not None and len(marked) > MAX_DEPTH and depth(tree) > MAX_DEPTH:
            tree = None
            problem = SyntaxProblem("too-deep", f"nested more than {MAX_DEPTH} levels deep", 0, len(text))
    return Formula(text, tree, () if problem is None else (problem,), marked, lambdas)


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
