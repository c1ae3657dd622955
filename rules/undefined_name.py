"""A formula uses a variable that nothing declares.

## What it detects
A variable in a formula that is not an argument, output, gradient, primal or tangent of the formula, nor a parameter of
a lambda. Called names and constants such as ``M_PI`` are declared in headers and checked by other rules.

## Why it is bad
PyTorch's generator looks for the names it knows and ignores the rest, so a misspelt argument is neither saved nor
reported. The C++ compiler reports an undeclared identifier in the generated file.

## Example
    - name: atan2(Tensor self, Tensor other) -> Tensor
      self, other: atan2_backward(grad, self, othr, grad_input_mask)

## Instead
    - name: atan2(Tensor self, Tensor other) -> Tensor
      self, other: atan2_backward(grad, self, other, grad_input_mask)

## Fix safety
Replacing the name by the closest known one is a guess, so the fix is unsafe. Of several equally close names, one is
offered where types and numbers refute the others.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``saved_variables``; gen_autograd_functions.py, ``process_function``;
gen_variable_type.py, ``emit_fw_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from derivlint.formula import Call, Formula, Name, Word
from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.engine.precedence import FOREIGN_KEY, UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.wording import distance, listed, nearest_names, quoted, quoted_list
from derivlint.model import DerivativeFormula, Entry, Role
from derivlint.model.entry import Expression
from derivlint.model.generated.gradients import GRADS
from derivlint.model.keywords import near_keyword
from derivlint.model.scope import (
    NotDeclared,
    UndeclaredName,
    is_internal,
    undeclared_in_condition,
    undeclared_names,
    visible_names,
)
from derivlint.operators.special import NOT_IMPLEMENTED

META = RuleMeta(
    severity=Severity.ERROR,
    group="names",
    checks=("X2",),
    yields_to=(
        UNREAD,
        FOREIGN_KEY,
    ),
)

VALID = (
    # declarations of C++ that only a compiler reads: no name in the body is certain to be unknown
    """\
- name: sin(Tensor self) -> Tensor
  self: |-
    [&, scale = 2]() {
      using Pair = std::pair<Tensor, double (*)(double)>;
      std::map<int, Tensor> cache;
      static const auto unit = 1.0;
      cache[0] = grad * self.cos().conj();
      int first = 0, *place = &first;
      Pair both{cache.at(*place), nullptr};
      try { first += scale; } catch (const std::exception& error) { throw; }
      return both.first * unit;
    }()
""",
    # constants and functions are declared in headers, parameters of a lambda in the formula
    """\
- name: erf(Tensor self) -> Tensor
  self: 2.0 / sqrt(M_PI) * exp(-(self.pow(2))) * grad * at::ones_like(self)
""",
    # the names of an unknown operator are unknown
    """\
- name: no_such_operator(Tensor self) -> Tensor
  self: grad * slef
""",
)

INVALID = (
    Invalid(
        at="2:43-47",
        message='"othr" is not declared in a backward formula of "atan2"',
        help='did you mean "other"?',
        fixed="  self, other: atan2_backward(grad, self, other, grad_input_mask)",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  result: handle_r_to_c(result.scalar_type(), self_t.conj() * input_primal.sgn())
""",
        at="3:63-75",
        message='"input_primal" is not declared in a forward formula of "abs"',
        help='the formula can use "result", "self", "self_p" and "self_t"',
    ),
    Invalid(
        """\
- name: cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
  self: not_implemented(cumsum_self)
""",
        at="2:25-36",
        message='"cumsum_self" is not declared in a backward formula of "cumsum"',
        help="put the text in double quotes",
    ),
    Invalid(
        """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, result1, self.sym_sizes(), keepdim)
""",
        at="3:62-69",
        message='"result1" is not declared: the second output of "max.dim" is called "indices"',
        help='did you mean "indices"?',
        fixed="  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)",
    ),
    Invalid(
        """\
- name: _to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor
  self: f(grad, dtype)
""",  # noqa: E501
        at="2:17-22",
        message='"dtype" is not declared: the tensor options of "_to_copy" are one variable "options" in C++',
        help='use "options"',
    ),
    Invalid(
        """\
- name: to_mkldnn(Tensor self, ScalarType? dtype=None) -> Tensor
  output_differentiability: ["!dtpye.has_value()"]
  self: to_mkldnn_backward(grad, self)
""",
        at="2:32-37",
        message='"dtpye" is not declared for "output_differentiability" of "to_mkldnn"',
        help='did you mean "dtype"?',
        fixed='  output_differentiability: ["!dtype.has_value()"]',
    ),
)

REASONS = (NotDeclared.UNKNOWN, NotDeclared.TENSOR_OPTION, NotDeclared.OTHER_OUTPUT_NAME)
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
#: The maximum number of listed names.
MANY = 8
#: The maximum number of visible names to compare with an undeclared one; no operator of PyTorch has 100.
MANY_VISIBLE = 500


@judges(Entry)
def check(entry: Entry) -> Iterator[Finding]:
    """Check the variables of every formula of one entry."""
    function = entry.function
    if function is None:
        return
    for expression in entry.expressions:
        formula = expression.written
        if formula is None:
            condition = expression.scalar.value
            names = [argument.name for argument in function.schema.arguments.flat_all]
            for word in _first_of_each(undeclared_in_condition(condition, function)):
                yield _unknown(expression, word, names, f'for "output_differentiability" of "{entry.operator}"')
        elif not formula.says_non_differentiable and near_keyword(formula) is None:
            undeclared = {item.word: item for item in undeclared_names(formula) if item.reason in REASONS}
            for word in _first_of_each(list(undeclared)):
                yield _in_formula(expression, formula, undeclared[word])


def _first_of_each(words: list[Word]) -> list[Word]:
    first: dict[str, Word] = {}
    for word in words:
        first.setdefault(word.text, word)
    return list(first.values())


def _in_formula(expression: Expression, formula: DerivativeFormula, name: UndeclaredName) -> Finding:
    where = formula.span_of(name.word)
    written = quoted(name.word.text)
    operator = formula.entry.operator
    if name.reason is NotDeclared.TENSOR_OPTION:
        message = f'{written} is not declared: the tensor options of "{operator}" are one variable "options" in C++'
        return Finding(where, message, help='use "options"', at=formula)
    if name.reason is NotDeclared.OTHER_OUTPUT_NAME:
        return _other_output(expression, formula, name)
    kind = "backward" if formula.role is Role.BACKWARD else "forward"
    return _unknown(expression, name.word, visible_names(formula), f'in a {kind} formula of "{operator}"')


def _other_output(expression: Expression, formula: DerivativeFormula, name: UndeclaredName) -> Finding:
    function = formula.entry.function
    outputs = [output.name for output in function.outputs] if function is not None else []
    where = formula.span_of(name.word)
    fact = f"{quoted(name.word.text)} is not declared"
    operator = f'"{formula.entry.operator}"'
    if name.subject is None:
        return Finding(where, f"{fact}: {operator} has no such output", help=listed("output", outputs), at=formula)
    index = outputs.index(name.subject)
    which = f"{ORDINALS[index]} output" if len(outputs) > 1 and index < len(ORDINALS) else "output"
    return Finding(
        where,
        f"{fact}: the {which} of {operator} is called {quoted(name.subject)}",
        help=f"did you mean {quoted(name.subject)}?",
        fix=_replacement(expression, name.word, name.subject),
        at=formula,
    )


def _unknown(expression: Expression, word: Word, visible: list[str], where: str) -> Finding:
    near: tuple[str, ...] = ()
    if len(visible) <= MANY_VISIBLE and not _is_message(expression, word):
        near = _near(word.text, visible)
    return Finding(
        expression.range(word.start, word.end),
        f"{quoted(word.text)} is not declared {where}",
        help=f"did you mean {quoted_list(near, 'or')}?" if near else _cure(expression, word, visible),
        fix=tuple(fix for name in near if (fix := _replacement(expression, word, name)) is not None),
        at=expression.written,
    )


def _near(name: str, visible: list[str]) -> tuple[str, ...]:
    """Return the names that may be meant: by spelling, or with all words but the last in common."""
    near = nearest_names(name, visible)
    if not near or distance(name, near[0], 1) <= 1:
        return near
    stem = name.rpartition("_")[0]
    alike = (word for word in visible if word == stem or word.rpartition("_")[0] in {stem, name} - {""})
    return tuple(dict.fromkeys((*near, *sorted(alike))))


def _cure(expression: Expression, word: Word, visible: list[str]) -> str | None:
    if expression.written is None and word.text in ("True", "False"):
        return "write True or False without quotes; a string is a C++ condition"
    if _is_message(expression, word):
        return "put the text in double quotes"
    function = expression.written.entry.function if expression.written is not None else None
    names = {name for name in visible if not is_internal(name)}
    if function is not None and len(function.outputs) == 1:
        # the only gradient is named "grad"
        names.discard(GRADS)
    return f"the formula can use {quoted_list(sorted(names))}" if 0 < len(names) <= MANY else None


def _is_message(expression: Expression, word: Word) -> bool:
    """Whether a word is in the message of a ``not_implemented`` call."""
    return word.start in _messages(expression.parsed)


@lru_cache(maxsize=8)
def _messages(formula: Formula) -> frozenset[int]:
    """Return the offsets of names in arguments of ``not_implemented``."""
    return frozenset(
        argument.start
        for node in formula.nodes
        if isinstance(node, Call) and isinstance(node.callee, Name) and node.callee.simple == NOT_IMPLEMENTED
        for argument in node.args
        if isinstance(argument, Name)
    )


def _replacement(expression: Expression, word: Word, name: str) -> Fix | None:
    if not expression.is_exact():
        return None
    uses = [
        candidate
        for candidate in expression.parsed.words
        if candidate.text == word.text and candidate.role == word.role
    ]
    edits = tuple(TextEdit(expression.range(use.start, use.end), name) for use in uses)
    return Fix(f"replace it by {quoted(name)}", edits, safe=False)
