"""The schema of an entry is not the one that PyTorch declares.

## What it detects
An operator or an overload that does not exist, and a schema that differs from native_functions.yaml in an argument, a
type, a default, an alias annotation, a return, or only in whitespace. The message names the difference from the closest
operator.

## Why it is bad
PyTorch's generator compares the schema with those of native_functions.yaml as text and fails if there is no match.

## Example
    - name: sum.dim_IntList(Tensor self, int[] dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
      self: sum_backward(grad, self.sym_sizes(), dim, keepdim)

## Instead
    - name: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
      self: sum_backward(grad, self.sym_sizes(), dim, keepdim)

## Fix safety
The fix writes the closest declared schema and renames the uses of a renamed argument or return. It is unsafe unless
only whitespace differs.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``create_differentiability_info``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from derivlint.lint import Finding, Invalid, Related, RuleMeta, Severity
from derivlint.lint.edits import schema_fix
from derivlint.lint.judging import judges
from derivlint.lint.wording import counted, did_you_mean, nearest_names, quoted, quoted_list
from derivlint.model import Entry, Model, SchemaProblemKind
from derivlint.schema import FunctionSchema, NativeFunction
from derivlint.schema.difference import DifferenceKind, SchemaDifference, differences, nearest
from derivlint.source import Span

META = RuleMeta(severity=Severity.ERROR, group="schema", checks=("L2",))

#: The maximum number of listed overloads.
MAX_LISTED = 8
#: The parts of a schema that formulas can name.
RENAMING = (DifferenceKind.ARGUMENT_NAME, DifferenceKind.RETURN_NAME)

VALID = (
    """\
- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
  other: handle_r_to_c(other.scalar_type(), maybe_multiply(grad, alpha.conj()))
""",
)

INVALID = (
    Invalid(
        """\
- name: atna2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
""",
        at="1:9-14",
        message='there is no operator "atna2"',
        help='did you mean "atan2"?',
        fixed="- name: atan2(Tensor self, Tensor other) -> Tensor",
    ),
    # the uses of the name are renamed too
    Invalid(
        """\
- name: atan2(Tensor slef, Tensor other) -> Tensor
  slef, other: atan2_backward(grad, slef, other, grad_input_mask)
  result: (-slef_p * other_t + other_p * slef_t) / (slef_p.pow(2) + other_p.pow(2))
""",
        at="1:22-26",
        message='"atan2" has no argument "slef"',
        help='did you mean "self"?',
        fixed="""\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
  result: (-self_p * other_t + other_p * self_t) / (self_p.pow(2) + other_p.pow(2))
""",
    ),
    Invalid(
        """\
- name: quaternion_product(Tensor self, Tensor other) -> Tensor
  self: grad
""",
        at="1:9-27",
        message='there is no operator "quaternion_product"',
        help="declare it in native_functions.yaml, or check which PyTorch version the file belongs to",
    ),
    Invalid(
        """\
- name: mul(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
  other: mul_tensor_backward(grad, self, other.scalar_type())
""",
        at="1:9-12",
        message='"mul" has no overload without a name',
        help='did you mean "mul.Tensor"? its overloads are "Tensor" and "Scalar"',
        fixed="- name: mul.Tensor(Tensor self, Tensor other) -> Tensor",
    ),
    Invalid(
        """\
- name: add.Tensr(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
""",
        at="1:13-18",
        message='"add" has no overload "Tensr"',
        help='did you mean "add.Tensor"? its overloads are "Tensor" and "Scalar"',
        fixed="- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat) -> Tensor
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
""",
        at="1:32-35",
        message='"mm" has no argument "mat"',
        help='did you mean "mat2"?',
        fixed="- name: mm(Tensor self, Tensor mat2) -> Tensor",
    ),
    Invalid(
        at="1:38-43",
        message='argument "dim" of "sum.dim_IntList" is declared as "int[1]?", not "int[]"',
        help='write "int[1]? dim"',
        fixed=(
            "- name: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
        ),
    ),
    Invalid(
        """\
- name: atanh_(Tensor self) -> Tensor(a!)
  self: not_implemented("inplace version of atanh")
""",
        at="1:16-22",
        message='argument "self" of "atanh_" is declared as "Tensor(a!)", not "Tensor"',
        help='write "Tensor(a!) self"',
        fixed="- name: atanh_(Tensor(a!) self) -> Tensor(a!)",
    ),
    Invalid(
        """\
- name: add.Scalar(Tensor self, Scalar other, Scalar alpha=42) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
""",
        at="1:60-62",
        message='argument "alpha" of "add.Scalar" is declared with default "1", but the entry says "42"',
        help='write "Scalar alpha=1"',
        fixed="- name: add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    ),
    Invalid(
        """\
- name: max.dim(Tensor self, int dim) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
""",
        at="1:37-38",
        message='argument "bool keepdim=False" of "max.dim" is missing',
        help="write it as the last argument",
        fixed="- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2, Scalar alpha=1) -> Tensor
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
""",
        at="1:38-52",
        message='"mm" has no argument "alpha"',
        help='remove "Scalar alpha=1"',
        fixed="- name: mm(Tensor self, Tensor mat2) -> Tensor",
    ),
    Invalid(
        """\
- name: add.Tensor(Tensor self, Tensor other, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
""",
        at="1:47-61",
        message='argument "alpha" of "add.Tensor" is keyword-only, not positional',
        help='write "*, Scalar alpha=1"',
        fixed="- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> (Tensor, Tensor)
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
""",
        at="1:41-57",
        message='"mm" has 1 return, not 2',
        help='write "-> Tensor"',
        fixed="- name: mm(Tensor self, Tensor mat2) -> Tensor",
    ),
    Invalid(
        """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor value, Tensor indices)
  output_differentiability: [True, False]
""",
        at="1:70-75",
        message='return 1 of "max.dim" is called "values", not "value"',
        help='write "Tensor values"',
        fixed="- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    ),
    Invalid(
        """\
- name: mul.Tensor(Tensor self,Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
""",
        at="1:27-38",
        message='the schema of "mul.Tensor" differs from PyTorch\'s only in whitespace, which must match',
        help='write "self, Tensor" for "self,Tensor"',
        fixed="- name: mul.Tensor(Tensor self, Tensor other) -> Tensor",
    ),
    Invalid(
        """\
- name: atan2(Tensor input, Scalar other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
""",
        at="1:9-52",
        message='"atan2" has no argument "input" (and 1 more difference)',
        help='PyTorch declares "atan2(Tensor self, Tensor other) -> Tensor"',
        fixed="- name: atan2(Tensor self, Tensor other) -> Tensor",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the nearest declared schema of each unknown one, and the difference."""
    problem = entry.schema_problem
    if problem is not None and problem.kind is SchemaProblemKind.UNKNOWN and problem.schema is not None:
        yield _finding(model, entry, problem.schema)


def _finding(model: Model, entry: Entry, own: FunctionSchema) -> Finding:
    name = own.name.name_without_overload
    overloads = model.natives.named(name)
    if not overloads:
        return _unknown_operator(model, entry, own)
    declared = nearest(own, overloads)
    assert declared is not None
    changes = differences(own, declared.schema)
    same = [
        item
        for item in overloads
        if all(change.kind is DifferenceKind.OVERLOAD for change in differences(own, item.schema))
    ]
    if same and declared.name == own.name:
        finding = _other_overload(entry, own, same[0], changes)
    elif declared.name != own.name:
        finding = _unknown_overload(entry, own, declared, changes, overloads)
    else:
        finding = _difference(entry, declared, changes)
    namesakes = _namesakes(model, own) if finding.fixes else []
    if not namesakes:
        return finding
    # the name may be the mistake
    fixes = (*finding.fixes, *(fix for item in namesakes if (fix := schema_fix(entry, str(item.schema))) is not None))
    names = quoted_list([str(item.name) for item in namesakes[:MAX_LISTED]], "or")
    return replace(finding, help=f"{finding.help}, or name {names}, which has these arguments", fix=fixes)


def _unknown_operator(model: Model, entry: Entry, own: FunctionSchema) -> Finding:
    name = own.name.name_without_overload
    near = nearest_names(name, model.natives.operator_names())
    meant = [declared for guess in near if (declared := nearest(own, model.natives.named(guess))) is not None]
    fixes = [
        schema_fix(entry, str(function.schema)) for function in meant if len(differences(own, function.schema)) == 1
    ]
    place = own.name_span or Span(0, 0)
    return Finding(
        _place(entry, Span(place.start, place.start + len(name))),
        f'there is no operator "{name}"',
        help=did_you_mean(name, near)
        or "declare it in native_functions.yaml, or check which PyTorch version the file belongs to",
        fix=tuple(fix for fix in fixes if fix is not None),
        at=entry,
    )


def _namesakes(model: Model, own: FunctionSchema) -> list[NativeFunction]:
    """Return the functions with a similar name and the same arguments."""
    name = own.name.name_without_overload
    names = dict.fromkeys((*nearest_names(name, model.natives.operator_names()), name + "_", name.removesuffix("_")))
    return [
        function
        for near in names
        if near != name
        for function in model.natives.named(near)
        if {item.kind for item in differences(own, function.schema)}
        <= {DifferenceKind.OPERATOR, DifferenceKind.OVERLOAD}
    ]


def _unknown_overload(
    entry: Entry,
    own: FunctionSchema,
    declared: NativeFunction,
    changes: Sequence[SchemaDifference],
    overloads: Sequence[NativeFunction],
) -> Finding:
    name = own.name.name_without_overload
    place = next(item.span for item in changes if item.kind is DifferenceKind.OVERLOAD)
    message = f"{quoted(name)} has no overload {quoted(own.name.overload) if own.name.overload else 'without a name'}"
    # entries are for written functions, not for generated or out variants
    listed = [item.name.overload for item in overloads if not item.generated and not item.schema.is_out]
    hints = []
    if len(changes) <= 2:
        hints.append(f"did you mean {quoted(str(declared.name))}?")
    if 1 < len(listed) <= MAX_LISTED and all(listed):
        hints.append(f"its overloads are {quoted_list(listed)}")
    elif not any(listed):
        hints = [f'write "{name}" without an overload']
    elif not hints:
        hints.append(f"the nearest is {quoted(str(declared.name))}")
    fix = schema_fix(entry, str(declared.schema)) if len(changes) <= 2 else None
    return Finding(_place(entry, place), message, help=" ".join(hints), fix=fix, at=entry)


def _other_overload(
    entry: Entry, own: FunctionSchema, declared: NativeFunction, changes: Sequence[SchemaDifference]
) -> Finding:
    """Return the finding if another overload is declared with exactly these arguments, else None."""
    message, help_text = f"{quoted(str(own.name))} has other arguments", f"did you mean {quoted(str(declared.name))}?"
    # if the named overload differs in one point only, either may be meant
    fix = schema_fix(entry, str(declared.schema)) if len(changes) > 1 else None
    place = own.name_span or Span(0, 0)
    return Finding(_place(entry, place), message, help=help_text, fix=fix, at=entry)


def _difference(entry: Entry, declared: NativeFunction, changes: Sequence[SchemaDifference]) -> Finding:
    first = changes[0]
    operator = str(declared.name)
    message, help_text = _wording(first, operator)
    where = _place(entry, first.span)
    related: tuple[Related, ...] = ()
    if len(changes) > 1:
        message += f" (and {counted(len(changes) - 1, 'more difference')})"
        help_text = f'PyTorch declares "{declared.schema}"'
        assert entry.name is not None
        where = entry.place_in(entry.name, 0, len(entry.name.value))
        related = tuple(Related(_wording(item, operator)[0], _place(entry, item.span)) for item in changes[:MAX_LISTED])
    renamed = {
        item.written: item.expected for item in changes if item.kind in RENAMING and item.written and item.expected
    }
    fix = schema_fix(entry, str(declared.schema), safe=first.kind is DifferenceKind.FORMATTING, renamed=renamed)
    return Finding(where, message, help=help_text, related=related, fix=fix, at=entry)


def _place(entry: Entry, span: Span) -> Span:
    assert entry.name is not None
    return entry.place_in(entry.name, span.start, span.end)


def _wording(item: SchemaDifference, operator: str) -> tuple[str, str]:
    """Format the message and help for a difference."""
    kind = item.kind
    if kind.value.startswith("return"):
        return _return_wording(item, operator)
    argument = f'argument "{item.name}" of "{operator}"'
    write = f'write "{item.context}"'
    if kind is DifferenceKind.ARGUMENT_MISSING:
        where = f'write it before "{item.before}"' if item.before is not None else "write it as the last argument"
        return f'argument "{item.context}" of "{operator}" is missing', where
    if kind is DifferenceKind.ARGUMENT_EXTRA:
        return f'"{operator}" has no argument "{item.name}"', f'remove "{item.written}"'
    if kind is DifferenceKind.ARGUMENT_NAME:
        return f'"{operator}" has no argument "{item.name}"', f'did you mean "{item.expected}"?'
    if kind in (DifferenceKind.ARGUMENT_TYPE, DifferenceKind.ARGUMENT_ANNOTATION):
        return f'{argument} is declared as "{item.expected}", not "{item.written}"', write
    if kind is DifferenceKind.ARGUMENT_DEFAULT:
        if item.expected is None:
            return f'{argument} is declared without default, but the entry says "{item.written}"', write
        if item.written is None:
            return f'{argument} is declared with default "{item.expected}", but the entry has none', write
        return f'{argument} is declared with default "{item.expected}", but the entry says "{item.written}"', write
    if kind is DifferenceKind.KEYWORD_ONLY:
        help_text = f'write "*, {item.context}"'
        if item.expected != "keyword-only":
            help_text = f'the "*" does not come before "{item.context}"'
        return f"{argument} is {item.expected}, not {item.written}", help_text
    if kind is DifferenceKind.ARGUMENT_ORDER:
        return f'the arguments of "{operator}" are in another order', f'the order is "{item.expected}"'
    written, expected = item.written or "", item.expected or ""
    aspect = "whitespace" if "".join(written.split()) == "".join(expected.split()) else "form"
    help_text = f'write "{expected}" for "{written}"' if written.isprintable() else "write it in one line"
    return f'the schema of "{operator}" differs from PyTorch\'s only in {aspect}, which must match', help_text


def _return_wording(item: SchemaDifference, operator: str) -> tuple[str, str]:
    if item.counts is not None:
        written, declared = item.counts
        return f'"{operator}" has {counted(declared, "return")}, not {written}', f'write "-> {item.expected}"'
    which = f'return {item.name} of "{operator}"'
    write = f'write "{item.context}"'
    if item.kind is not DifferenceKind.RETURN_NAME:
        return f'{which} is declared as "{item.expected}", not "{item.written}"', write
    if item.expected is None:
        return f'{which} has no name, the entry calls it "{item.written}"', write
    if item.written is None:
        return f'{which} lacks its name "{item.expected}"', write
    return f'{which} is called "{item.expected}", not "{item.written}"', write
