"""A parsed formula: its text, tree, syntax errors and words."""

from __future__ import annotations

from collections.abc import Callable

from derivlint.formula.nodes import Expr, Lambda, Name, Node, TypeName, walk
from derivlint.formula.parsing.lambdas import LambdaInfo
from derivlint.formula.parsing.tokens import SyntaxProblem
from derivlint.formula.vocabulary import Token
from derivlint.formula.words import Word, find_words


class Formula:
    """A C++ expression as written in a derivatives file; immutable.

    The tree is computed on demand: generated formulas are often used for their words only.

    Attributes:
        text: the source text.
    """

    __slots__ = (
        "__weakref__", "_by_text", "_lambdas", "_names", "_nodes", "_parse", "_problems", "_tokens", "_tree", "_words",
        "text",
    )  # fmt: skip

    def __init__(
        self,
        text: str,
        parse: Callable[[], tuple[Expr | None, tuple[SyntaxProblem, ...]]],
        tokens: list[Token] | None,
        lambdas: list[LambdaInfo],
    ) -> None:
        self.text = text
        self._parse: Callable[[], tuple[Expr | None, tuple[SyntaxProblem, ...]]] | None = parse
        self._tree: Expr | None = None
        self._problems: tuple[SyntaxProblem, ...] = ()
        self._tokens = tokens
        self._lambdas = lambdas
        self._words: tuple[Word, ...] | None = None
        self._by_text: dict[str, tuple[Word, ...]] | None = None
        self._names: tuple[Name, ...] | None = None
        self._nodes: tuple[Node, ...] | None = None

    def _parsed(self) -> None:
        if self._parse is not None:
            parse, self._parse = self._parse, None
            self._tree, self._problems = parse()

    @property
    def tree(self) -> Expr | None:
        """The syntax tree, or None if the text does not parse."""
        self._parsed()
        return self._tree

    @property
    def problems(self) -> tuple[SyntaxProblem, ...]:
        """The syntax errors; empty for a valid formula."""
        self._parsed()
        return self._problems

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"

    @property
    def words(self) -> tuple[Word, ...]:
        """All runs of word characters outside numbers, in source order, each with its role in C++.

        Without a tree, roles are guessed from neighbouring tokens. Formulas that are too long to tokenize have no
        words.
        """
        if self._words is None:
            self._words = () if self._tokens is None else find_words(self.text, self._tokens, self._lambdas)
            # tokens take most of a formula's memory, and nothing else needs them
            self._tokens, self._lambdas = [], []
        return self._words

    @property
    def words_by_text(self) -> dict[str, tuple[Word, ...]]:
        """The words grouped by their text."""
        if self._by_text is None:
            lists: dict[str, list[Word]] = {}
            for word in self.words:
                lists.setdefault(word.text, []).append(word)
            self._by_text = {text: tuple(words) for text, words in lists.items()}
        return self._by_text

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes of the tree in source order, parents first; empty without a tree."""
        if self._nodes is None:
            self._nodes = () if self.tree is None else tuple(walk(self.tree))
        return self._nodes

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of variables and functions that the formula does not declare, in source order."""
        if self._names is None:
            self._names = () if self.tree is None else free_names(self.tree)
        return self._names


def free_names(tree: Expr) -> tuple[Name, ...]:
    """The unqualified names that no lambda parameter binds, without types, in source order."""
    names: list[Name] = []
    stack: list[tuple[Node, frozenset[str]]] = [(tree, frozenset())]
    while stack:
        node, bound = stack.pop()
        if isinstance(node, TypeName):
            continue
        if isinstance(node, Name):
            if node.simple is not None and node.simple not in bound:
                names.append(node)
            continue
        if isinstance(node, Lambda):
            stack.extend((use, bound) for use in reversed(node.uses))
            bound = bound.union(param.name for param in node.params)
            if node.body is not None:
                stack.append((node.body, bound))
            continue
        stack.extend((child, bound) for child in reversed(node.children))
    names.sort(key=lambda name: name.start)
    return tuple(names)
