"""The keys of entries and the keywords of formulas, with their meanings; no other module spells them.

``ENTRY_KEYS`` are the keys of an entry other than names of arguments and outputs; a new one is added here, read by
:mod:`derivlint.model.read`, and stored in :class:`~derivlint.model.entry_syntax.EntrySyntax`.
"""

from __future__ import annotations

NAME = "name"
DISPATCH = "dispatch"
OUTPUT_DIFFERENTIABILITY = "output_differentiability"
#: The keys of an entry other than names of its arguments or outputs, with their meaning.
ENTRY_KEYS = {
    NAME: "the schema of the operator, as native_functions.yaml has it",
    DISPATCH: "formulas for each dispatch key, instead of one set for all",
    OUTPUT_DIFFERENTIABILITY: (
        "one boolean for each output: whether gradients flow through it; "
        "or one C++ condition under which the output is differentiable"
    ),
}
#: The key for autograd of views in candle's files.
VIEW_AUTOGRAD = "view_autograd"

#: The dispatch key of the formulas of an entry without ``dispatch``.
DEFAULT = "Default"
#: The name of a single unnamed output in keys and formulas.
RESULT = "result"

AUTO_LINEAR = "auto_linear"
AUTO_ELEMENT_WISE = "auto_element_wise"
NON_DIFFERENTIABLE = "non_differentiable"
#: The keywords that replace C++ under forward keys, with their meanings.
FORWARD_WORDS = {
    AUTO_LINEAR: "the function itself, on tangents",
    AUTO_ELEMENT_WISE: "the backward formula, on the tangent",
}
#: The keywords that replace C++ under backward keys, with their meanings.
BACKWARD_WORDS = {NON_DIFFERENTIABLE: "no gradient flows through this argument"}
