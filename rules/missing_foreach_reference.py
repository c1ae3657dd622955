"""An operator without an entry has foreach functions that need one.

## What it detects
In a file that has the entries of most foreach functions: an operator whose entry is missing although there is an
in-place ``_foreach_<name>_``. A file with few entries is not expected to be complete.

## Why it is bad
The derivatives of foreach functions are derived from those of their operator. PyTorch's generator fails with an
assertion if the entry is missing, misspelt, or for another overload.

## Example
A file without an entry for ``abs(Tensor self) -> Tensor``, which ``_foreach_abs_`` needs.

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Sources
gen_variable_type.py, ``emit_body``; torchgen/api/autograd.py, ``match_differentiability_info``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import WITHOUT_NAME
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import Entry, Model
from derivlint.model.index import BY_BASE, EntryIndex
from derivlint.model.keys import DEFAULT
from derivlint.model.query import file_fact
from derivlint.schema import NativeFunction

META = RuleMeta(
    severity=Severity.ERROR,
    group="foreach",
    checks=("G12",),
    compares=True,
    yields_to=(WITHOUT_NAME, SupersededBy(("unknown-schema",), "the entry does not count", Within.ENTRY)),
)

VALID: tuple[str, ...] = (
    """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
""",
)

UNARY = (
    *("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma"),
    *("log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt"),
    *("tan", "tanh", "trunc"),
)
SCHEMAS = (
    *(f"{name}(Tensor self) -> Tensor" for name in UNARY),
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    "mul.Scalar(Tensor self, Scalar other) -> Tensor",
    "div.Tensor(Tensor self, Tensor other) -> Tensor",
    "div.Scalar(Tensor self, Scalar other) -> Tensor",
    "clamp_max(Tensor self, Scalar max) -> Tensor",
    "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
    "clamp_min(Tensor self, Scalar min) -> Tensor",
    "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
    "maximum(Tensor self, Tensor other) -> Tensor",
    "minimum(Tensor self, Tensor other) -> Tensor",
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    "zero_(Tensor(a!) self) -> Tensor(a!)",
    # in old releases, foreach operators use no other formulas
    "_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]",
)


def _file_without(name: str) -> str:
    """Make a file with entries for all operators with foreach functions but one."""
    schemas = (schema for schema in SCHEMAS if not schema.startswith((f"{name}(", f"{name}.")))
    return "".join(f'- name: {schema}\n  self: not_implemented("x")\n' for schema in schemas)


VALID = (
    *VALID,
    _file_without("no_such_operator"),
    # the entry exists, but its schema is wrong
    _file_without("abs") + "- name: abs(Tensor sellf) -> Tensor\n  self: grad\n",
    _file_without("abs") + "- name: abss(Tensor self) -> Tensor\n  self: grad\n",
)

INVALID = (
    Invalid(
        _file_without("abs"),
        at="1:9-13",
        message='no entry for "abs" serves "_foreach_abs_"',
        help="the derivatives of a foreach function are derived from its operator's; write that entry",
    ),
    Invalid(
        _file_without("sub"),
        at="1:9-12",
        message='no entry for "sub" serves "_foreach_sub_.Scalar", "_foreach_sub_.List" and "_foreach_sub_.ScalarList"',
    ),
)


@judges(Model)
def check(model: Model) -> Iterator[Finding]:
    """Find the operators, not every foreach overload."""
    if model.document.problems or not model.is_pytorchs_own or not model.fact(_names_are_sound):
        return
    exempt = model.book.names("foreach-without-reference")
    missing = [function for function in model.foreach_without_reference() if not _is_among(exempt, function)]
    if not missing or 2 * len(missing) > sum(
        not _is_among(exempt, function) for function in model.natives.inplace_foreach
    ):
        return
    by_base: dict[str, list[str]] = {}
    for function in missing:
        by_base.setdefault(function.name.element_base, []).append(str(function.name))
    for base, names in by_base.items():
        # another rule reports entries that lack "Default" formulas
        if all(any(body.key == DEFAULT for body in entry.bodies) for entry in model.entries_in(BY_BASE, base)):
            yield Finding(
                model.entries[0].name_span,
                f"no entry for {quoted(base)} serves {quoted_list(names)}",
                help="the derivatives of a foreach function are derived from its operator's; write that entry",
                at=model.entries[0],
                rests_on=(base,),
            )


def _names(entry: Entry) -> Iterator[tuple[str, str]]:
    if entry.operator is None:
        yield "unnamed", ""
    if entry.function is not None:
        yield "", str(entry.function.schema)


#: The schemas of all entries' functions under one key, the entries without a name under another.
NAMES: EntryIndex[str] = EntryIndex(f"{__name__}:NAMES", _names)


@file_fact
def _names_are_sound(model: Model, _: str) -> bool:
    """Whether the functions of the entries are distinct; otherwise one of them may be the missing entry."""
    schemas = model.values_in(NAMES, "")
    return not model.values_in(NAMES, "unnamed") and len(set(schemas)) == len(schemas)


def _is_among(names: Collection[str], function: NativeFunction) -> bool:
    base, dot, overload = str(function.name).partition(".")
    return f"{base.removesuffix('_')}{dot}{overload}" in names
