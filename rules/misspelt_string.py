"""A string names another operator, or an operator or an option with a typo.

## What it detects
The text of "not_implemented" in which a word is one letter off the operator's name, which begins with another operator
or ends with an argument that is not in the key, and a string that is none of the options of its parameter, such as
"rounding_mode". For PyTorch's operators, also a name other than a string literal.

## Why it is bad
Strings are copied as they are. The error for a derivative that is not implemented names an operator that does not
exist, and an unknown option raises an error in the backward pass.

## Example
    - name: geqrf(Tensor self) -> (Tensor a, Tensor tau)
      self: not_implemented("gegrf")

## Instead
    - name: geqrf(Tensor self) -> (Tensor a, Tensor tau)
      self: not_implemented("geqrf")

## Fix safety
The typo may be another one, so the fix is unsafe.

## Sources
torch/csrc/autograd/FunctionsManual.cpp, ``not_implemented``; aten/src/ATen/native/BinaryOps.cpp, ``div``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import String
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.edits import formula_fix
from derivlint.lint.engine.precedence import UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.wording import closest, did_you_mean, distance, quoted, quoted_list
from derivlint.model import Entry, Model
from derivlint.operators.common_mistakes import string_options
from derivlint.operators.special import RAISING

META = RuleMeta(severity=Severity.WARNING, group="arguments", yields_to=(UNCOMPILED,), reads=AnalysisDepth.SEMANTICS)

VALID = (
    """\
- name: special_zeta(Tensor self, Tensor other) -> Tensor
  self: 'not_implemented("zeta: self")'
  other: grad * -self * special_zeta(self + 1., other)
""",
    # an output of another operator's name, and an argument in the key
    """\
- name: native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, \
Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
  mean: not_implemented("native_layer_norm_backward mean")
""",
    """\
- name: fmod.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad
  other: -grad * self.div(other, /*rounding_mode=*/"trunc")
""",
)

INVALID = (
    Invalid(
        at="2:26-31",
        message='"gegrf" is not an operator',
        help='did you mean "geqrf"?',
        fixed='  self: not_implemented("geqrf")',
    ),
    # a reason
    Invalid(
        """\
- name: _cudnn_rnn_flatten_weight(Tensor[] weight_arr, int weight_stride0, SymInt input_size, int mode, \
SymInt hidden_size, SymInt proj_size, int num_layers, bool batch_first, bool bidirectional) -> Tensor
  weight_arr: not_implemented_list(kCudnnDoubleBackwardMsg)
""",
        at="2:36-59",
        message='"not_implemented_list" is passed "kCudnnDoubleBackwardMsg" for the name of the operator',
        help="pass the name first, then the reason",
    ),
    # of another entry and key
    Invalid(
        """\
- name: geqrf(Tensor self) -> (Tensor a, Tensor tau)
  self: not_implemented("ormqr")
""",
        at="2:26-31",
        message='"ormqr" is another operator',
    ),
    Invalid(
        """\
- name: igamma(Tensor self, Tensor other) -> Tensor
  self: 'not_implemented("igamma: other")'
  other: grad * exp((self - 1) * log(other) - other - lgamma(self))
""",
        at="2:35-40",
        message='"other" is not in the key',
    ),
    Invalid(
        """\
- name: fmod.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad
  other: -grad * self.div(other, /*rounding_mode=*/"trnc")
""",
        at="3:53-57",
        message='"trnc" is not an option of "rounding_mode", which has "floor" and "trunc"',
        help='did you mean "trunc"?',
        fixed='  other: -grad * self.div(other, /*rounding_mode=*/"trunc")',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Check the strings that calls are passed."""
    is_of_pytorch = entry.function is not None and entry.function.canonical.in_cpp_api
    for interpretation in analyses_of(model).interpretations(entry):
        for call in interpretation.calls:
            first = call.arguments[0].node if call.arguments else None
            if is_of_pytorch and call.name in RAISING and first is not None and not isinstance(first, String):
                # PyTorch's reasons are constants, its names are not
                text = interpretation.formula.source_of(first)
                yield Finding(
                    interpretation.formula.span_of(first),
                    f"{quoted(call.spelling)} is passed {quoted(text)} for the name of the operator",
                    help="pass the name first, then the reason",
                    at=interpretation.formula.written,
                )
            for argument in call.arguments:
                node, parameter = argument.node, argument.parameter
                if not isinstance(node, String) or "\\" in node.text:
                    continue
                text = node.text[1:-1]
                if call.name in RAISING:
                    yield from _misspelt_operators(model, interpretation.formula, node, text)
                elif parameter is not None and text not in (options := string_options(parameter.name)) and options:
                    message = f"{quoted(text)} is not an option of {quoted(parameter.name)}"
                    message += f", which has {quoted_list(options)}"
                    yield _finding(interpretation.formula, node.start + 1, text, options, message)


def _misspelt_operators(model: Model, formula: TypedFormula, node: String, text: str) -> Iterator[Finding]:
    """Check the words of a text that is near the name of the entry's operator, or near its last parts."""
    function = formula.written.entry.function
    parts = function.canonical.name.base.strip("_").split("_") if function is not None else []
    names = tuple(name for at in range(len(parts)) if len(name := "_".join(parts[at:])) > LONG)
    arguments = {binding.name for binding in function.arguments} if function is not None else set()
    start = node.start + 1
    # "native_layer_norm_backward mean"
    is_own = any(word.strip("_:") in names for word in text.split(" "))
    for word in text.split(" "):
        name = word.strip("_:")
        is_near = any(distance(name, operator, 1) == 1 and name != f"{operator}s" for operator in names)
        if is_near and name not in parts and not model.natives.with_base(name):
            yield _finding(formula, start + word.index(name), name, names, f"{quoted(name)} is not an operator")
        elif start == node.start + 1 and not is_own and len(name) > LONG and model.natives.with_base(name):
            yield _finding(formula, start + word.index(name), name, (), f"{quoted(name)} is another operator")
        elif start + len(word) == node.end - 1 and is_own and name in arguments - formula.names:
            yield _finding(formula, start + word.index(name), name, (), f"{quoted(name)} is not in the key")
        start += len(word) + 1


#: Names of fewer letters are one edit away from too many words.
LONG = 3


def _finding(formula: TypedFormula, start: int, text: str, names: tuple[str, ...], message: str) -> Finding:
    nearest = closest(text, names)
    change = (start, start + len(text), nearest) if nearest is not None else None
    return Finding(
        formula.written.range(start, start + len(text)),
        message,
        help=did_you_mean(text, names),
        fix=formula_fix(formula.written, "correct the text", [change]) if change is not None else None,
        at=formula.written,
    )
