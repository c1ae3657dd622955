"""Parse formulas with the grammar in ``grammar/formula.lark``."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from derivlint.formula.formula import Formula
from derivlint.formula.nodes import MAX_DEPTH, Lambda, depth, walk
from derivlint.formula.parsing.angles import mark_angles, mark_casts
from derivlint.formula.parsing.diagnose import diagnose
from derivlint.formula.parsing.lambdas import LambdaInfo, mark_lambdas
from derivlint.formula.parsing.lexical import lexical_problem, suspicious_problem
from derivlint.formula.parsing.parse_table import formula_table
from derivlint.formula.parsing.tokens import SyntaxProblem, SyntaxProblemKind, tokens
from derivlint.formula.vocabulary import SEMICOLON, TRIVIA, Token

if TYPE_CHECKING:
    from derivlint.formula.nodes import Expr

#: The maximum number of tokens of a formula, which bounds time; PyTorch's longest has about 300.
MAX_TOKENS = 5_000
#: The maximum length of a formula; tokens take a hundred times the memory of their characters.
MAX_CHARACTERS = 50_000

#: The number of characters of recent but unused formulas to cache.
RECENT = 32_768


class _Formulas:
    """A cache of the formulas in use and the most recently parsed ones."""

    def __init__(self) -> None:
        self.used: WeakValueDictionary[str, Formula] = WeakValueDictionary()
        self._recent: deque[Formula] = deque()
        self._size = 0

    def add(self, formula: Formula) -> None:
        self.used[formula.text] = formula
        self._recent.append(formula)
        self._size += len(formula.text)
        while self._size > RECENT:
            self._size -= len(self._recent.popleft().text)


_formulas = _Formulas()


def parse_formula(text: str) -> Formula:
    """Parse a formula; never raises, errors are in ``problems``.

    Weakly cached: otherwise an editor would accumulate every typed text.
    """
    formula = _formulas.used.get(text)
    if formula is None:
        formula = _parsed(text)
        _formulas.add(formula)
    return formula


def _parsed(text: str) -> Formula:
    if len(text) > MAX_CHARACTERS:
        return _refused(text, f"the formula has {len(text):,} characters, more than {MAX_CHARACTERS:,}", None)
    everything = tokens(text)
    significant = [token for token in everything if token.type not in TRIVIA]
    if len(significant) > MAX_TOKENS:
        return _refused(text, f"the formula has {len(significant):,} tokens, more than {MAX_TOKENS:,}", significant)
    last = len(significant)
    while last and significant[last - 1].type == SEMICOLON:
        last -= 1
    expression = significant[:last] if last < len(significant) else significant
    marked = mark_casts(mark_angles(expression))
    fed, lambdas = mark_lambdas(marked)

    def parse() -> tuple[Expr | None, tuple[SyntaxProblem, ...]]:
        problem = lexical_problem(text, everything, significant)
        if not marked or (problem is not None and problem.kind not in _KEEPS_TREE):
            return None, () if problem is None else (problem,)
        tree, problem = _tree_and_problem(text, expression, marked, fed, problem)
        if tree is not None and lambdas:
            _read_statements(tree, lambdas)
        return tree, () if problem is None else (problem,)

    return Formula(text, parse, marked, lambdas)


def _read_statements(tree: Expr, lambdas: list[LambdaInfo]) -> None:
    """Parse the bodies of lambdas of several statements."""
    # few formulas have any
    from derivlint.formula.parsing.statements import parse_body

    bodies = {info.start: info.body for info in lambdas if info.body}
    for node in walk(tree):
        if isinstance(node, Lambda) and (body := bodies.get(node.start)) is not None:
            node.statements = parse_body(body, body[0].start, body[-1].end)


def _refused(text: str, message: str, significant: list[Token] | None) -> Formula:
    """A formula without a tree; it has words if it was tokenized."""
    problem = SyntaxProblem(SyntaxProblemKind.TOO_LARGE, message, 0, len(text))
    return Formula(text, lambda: (None, (problem,)), significant, [])


def _tree_and_problem(
    text: str, expression: list[Token], marked: list[Token], fed: list[Token], problem: SyntaxProblem | None
) -> tuple[Expr | None, SyntaxProblem | None]:
    """The tree and the one reported problem, given the problems from before parsing."""
    tree, culprit = formula_table().parse(fed)
    if culprit is not None:
        # report the cause, such as a comment that hides the closing bracket, not the missing bracket
        if problem is None or problem.kind is SyntaxProblemKind.TRAILING_SEMICOLON:
            problem = diagnose(text, expression, fed, culprit)
        return tree, problem
    if tree is None:
        return None, problem
    if len(marked) > MAX_DEPTH and depth(tree) > MAX_DEPTH:
        return None, SyntaxProblem(
            SyntaxProblemKind.TOO_DEEP, f"the formula is nested more than {MAX_DEPTH} levels deep", 0, len(text)
        )
    return tree, problem or suspicious_problem(text, marked, tree)


#: Problems of texts that still have a useful tree.
_KEEPS_TREE = frozenset(
    {SyntaxProblemKind.TRAILING_SEMICOLON, SyntaxProblemKind.LINE_COMMENT, SyntaxProblemKind.BAD_NUMBER}
)
