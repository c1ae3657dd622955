"""Groups of rules by topic. A group can be selected, ignored and given a severity like a rule."""

from __future__ import annotations

from typing import Literal, TypeAlias

Group: TypeAlias = Literal[
    "arguments",
    "complex",
    "differentiability",
    "dispatch",
    "foreach",
    "gradients",
    "higher-order",
    "keys",
    "names",
    "numbers",
    "precision",
    "registration",
    "saving",
    "schema",
    "shapes",
    "style",
    "suppressions",
    "syntax",
    "tangents",
    "types",
    "views",
    "yaml",
]

#: The topic of each group, in listing order: from the file to the values.
GROUPS: dict[Group, str] = {
    "yaml": "the file and its entries as YAML",
    "schema": "the operator that an entry is about",
    "keys": "which arguments and outputs have formulas",
    "registration": "which operators get an autograd kernel of their entry, and what it lacks",
    "dispatch": "formulas for single dispatch keys",
    "differentiability": "which outputs and arguments are differentiable",
    "syntax": "formulas as C++ expressions, and the words that stand for a whole formula",
    "names": "the names that formulas use",
    "types": "the types of C++ in formulas",
    "arguments": "what calls are given for which parameter",
    "gradients": "backward formulas: linear in the gradients, and right",
    "tangents": "forward formulas: linear in the tangents, and right",
    "complex": "conjugates",
    "shapes": "the sizes of gradients, tangents and operands",
    "precision": "integers, casts and digits that are lost",
    "views": "views, aliases and what is written in place",
    "saving": "what is saved for the backward pass",
    "foreach": "foreach operators, which share formulas with others",
    "higher-order": "derivatives of the formulas themselves",
    "style": "what is right and could be better",
    "suppressions": "the comments that silence findings",
    "numbers": "what running formulas finds (derivlint verify)",
}
