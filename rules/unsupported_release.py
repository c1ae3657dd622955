"""A file belongs to an older PyTorch than its operators.

## What it detects
A file in which many schemas differ from those of the operators that they name, as in a PyTorch older than the oldest
supported release. Nothing else is reported: the operators, their C++ and their generator were different.

## Why it is bad
Judged by another PyTorch, nearly every finding would be wrong, and so would be the fixes.

## Example
Many schemas that are not declared like this, here without returns:

    - name: abs(Tensor self)
      ...

## Instead
The same file beside the ``native_functions.yaml`` of its commit, which is read for PyTorch of 2020 and later. Before
May 2019, schemas had no returns; such files are not supported.

## Sources
tools/autograd/load_derivatives.py of PyTorch 1.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.model import Model, SchemaProblemKind
from derivlint.model.index import FORMULAS, OUTDATED
from derivlint.operators.book import bundled_releases

META = RuleMeta(severity=Severity.ERROR, group="schema")

_UNARY = (
    *("abs", "acos", "acosh", "angle", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "digamma", "erf"),
    *("erfc", "erfinv", "exp", "exp2", "expm1", "floor", "frac", "i0", "inverse", "lgamma", "log", "log10", "log1p"),
    *("log2", "logdet", "mish", "neg", "reciprocal", "relu", "round", "rsqrt", "sgn", "sigmoid", "sign", "silu", "sin"),
    *("sinc", "sinh", "sqrt", "selu", "tan", "tanh", "trace", "trunc", "zero", "special_i0e", "special_i1"),
)


def _file(*, changed: str, n_changed: int) -> str:
    """Make a file with entries for all unary operators, some with another signature."""
    signatures = [changed] * n_changed + ["(Tensor self) -> Tensor"] * (len(_UNARY) - n_changed)
    entries = zip(_UNARY, signatures, strict=True)
    return "".join(f'- name: {name}{signature}\n  self: not_implemented("x")\n' for name, signature in entries)


VALID: tuple[str, ...] = (
    "- name: zero_(Tensor(a!) self) -> Tensor(a!)\n  self: zeros_like(grad)\n",
    # a few mistakes
    _file(changed="(Tensor self)", n_changed=5),
)

INVALID = (
    Invalid(
        _file(changed="(Tensor self, *, Tensor(a!) grad_input) -> Tensor", n_changed=20),
        at="1:9-12",
        message=f"20 of {len(_UNARY)} schemas differ from those of their operators: the file is of an older PyTorch",
        help="put the native_functions.yaml of its commit beside it; without it, the oldest release is 2.1",
    ),
    Invalid(
        _file(changed="(Tensor self)", n_changed=len(_UNARY)),
        at="1:9-12",
        message="the schemas have no returns: the file is of PyTorch 1.1 or older, which is not supported",
        help="the oldest release is 2.1; older files are read beside the native_functions.yaml of their commit, from "
        "2020 on",
    ),
)


@judges(Model)
def check(model: Model) -> Iterator[Finding]:
    """Report the file once, at the first differing schema."""
    if not model.is_of_unsupported_release:
        return
    outdated = model.entries_in(OUTDATED, "")
    major, minor = bundled_releases()[0]
    malformed = [
        entry
        for entry in outdated
        if entry.schema_problem is not None and entry.schema_problem.kind is SchemaProblemKind.MALFORMED
    ]
    if 2 * len(malformed) > len(outdated):
        message = "the schemas have no returns: the file is of PyTorch 1.1 or older, which is not supported"
        help_text = (
            f"the oldest release is {major}.{minor}; older files are read beside the native_functions.yaml of their "
            "commit, from 2020 on"
        )
    else:
        message = (
            f"{len(outdated)} of {len(model.values_in(FORMULAS, ''))} schemas differ from those of their operators: "
            "the file is of an older PyTorch"
        )
        help_text = (
            f"put the native_functions.yaml of its commit beside it; without it, the oldest release is {major}.{minor}"
        )
    yield Finding(outdated[0].name_span, message, help=help_text, at=outdated[0])
