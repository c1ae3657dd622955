"""The syntax of C++ formulas, independent of YAML and PyTorch.

formula
    A text with its syntax tree or syntax errors (``formula``, made by :func:`parse_formula`).
node
    A part of a syntax tree, with exact offsets (``nodes``).
word
    An identifier of the text with its role: variable, member, callee, type (``words``).
table
    The LALR table of ``grammar/formula.lark`` that the parser follows (``parsing.parse_table``).
analysis
    A bottom-up walk that computes a value for each expression (``analysis``), within a ``budget``.

``parsing.diagnose`` explains syntax errors; ``python`` reads texts that mix Python and C++.
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
from derivlint.formula.parsing.tokens import SyntaxProblem, SyntaxProblemKind, tokens
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
