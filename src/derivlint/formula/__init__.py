"""The syntax of C++ formulas. Knows nothing about YAML or PyTorch.

:func:`parse_formula` turns a text into a :class:`Formula`: a syntax tree with exact offsets, or a syntax problem. The
nodes are in ``nodes``; ``parsing`` follows the table made from ``grammar/formula.lark`` and explains syntax errors;
``words`` classifies each identifier; ``python`` reads texts that mix Python and C++.
:class:`derivlint.formula.analysis.Analysis` is the base of all bottom-up walks over trees; ``budget`` limits the cost
of following code.
"""

from derivlint.formula.edits import Edit, apply_edits, render
from derivlint.formula.formula import Formula, free_names
from derivlint.formula.nodes import (
    Binary,
    BraceList,
    Call,
    Cast,
    Char,
    Conditional,
    Construct,
    Expr,
    Index,
    Lambda,
    LambdaParam,
    Member,
    Name,
    NamePart,
    Node,
    Number,
    Parenthesized,
    Postfix,
    String,
    TypeName,
    Unary,
    unparenthesized,
    walk,
)
from derivlint.formula.parsing.parser import parse_formula
from derivlint.formula.parsing.tokens import tokens
from derivlint.formula.problem import SyntaxProblem, SyntaxProblemKind
from derivlint.formula.vocabulary import Token, whole_number
from derivlint.formula.words import Word

__all__ = [
    "Binary",
    "BraceList",
    "Call",
    "Cast",
    "Char",
    "Conditional",
    "Construct",
    "Edit",
    "Expr",
    "Formula",
    "Index",
    "Lambda",
    "LambdaParam",
    "Member",
    "Name",
    "NamePart",
    "Node",
    "Number",
    "Parenthesized",
    "Postfix",
    "String",
    "SyntaxProblem",
    "SyntaxProblemKind",
    "Token",
    "TypeName",
    "Unary",
    "Word",
    "apply_edits",
    "free_names",
    "parse_formula",
    "render",
    "tokens",
    "unparenthesized",
    "walk",
    "whole_number",
]
