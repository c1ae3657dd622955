"""A key occurs twice in one mapping.

## What it detects
The same key twice in one entry, in one dispatch key or in any other mapping of the file. Two keys are the same if their
text is, whatever their quotes.

## Why it is bad
YAML readers keep one of the two values silently; PyTorch's generator rejects the file with an assertion that gives no
location. A second ``name`` usually means that the "- " which starts an entry is missing.

## Example
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      self: mul_tensor_backward(grad, self, other.scalar_type())

## Instead
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      other: mul_tensor_backward(grad, self, other.scalar_type())

## Fix safety
Removing a key with the same value as another is safe. Where the values differ, there is no fix, since either may be the
intended one.

## Sources
torchgen/yaml_utils.py, ``YamlLoader.construct_mapping``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, Related, RuleMeta, Severity, TextEdit
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry
from derivlint.model.keys import NAME
from derivlint.yaml_reader import Mapping, Pair, Scalar, Sequence, YamlNode
from derivlint.yaml_reader.rewrite import removal

META = RuleMeta(severity=Severity.ERROR, group="yaml", checks=("Y1",))

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  dispatch:
    Default:
      self: grad * self.sgn()
    AutogradNestedTensor:
      self: grad * self.sgn()
""",
)

INVALID = (
    Invalid(
        """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
  "self": mul_tensor_backward(grad, self, other.scalar_type())
""",
        at="3:3-9",
        message='the key "self" occurs twice in "mul.Tensor"',
        help="keep one of the two; each argument has one formula",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  dispatch:
    Default:
      self: grad * self.sgn()
    AutogradNestedTensor:
      self: grad * self.sgn()
    Default:
      self: grad
""",
        at="7:5-12",
        message='the key "Default" occurs twice in "abs"',
        help="keep one of the two",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  result: auto_element_wise

  name: neg(Tensor self) -> Tensor
  self: grad.neg()
  result: auto_element_wise
""",
        at="5:3-7",
        message='the entry "abs" has a second "name"',
        help='start a new entry with "- " before it',
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()
  result: auto_element_wise
  result: "auto_element_wise"
""",
        at="4:3-9",
        message='the key "result" occurs twice in "exp"',
        help="keep one of the two; each argument has one formula",
        fixed="""\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()
  result: auto_element_wise
""",
    ),
)


@judges(Entry)
def check(entry: Entry) -> Iterator[Finding]:
    """Find the duplicate keys of an entry's mappings."""
    # another rule reports a mapping in place of a formula; PyTorch's generator fails on ``{grad, grad}`` here
    no_mappings = {id(problem.node) for problem in entry.problems}
    todo: list[YamlNode] = [entry.node]
    seen = set()
    while todo:
        node = todo.pop()
        if id(node) in seen or id(node) in no_mappings:
            continue
        seen.add(id(node))
        if isinstance(node, Sequence):
            todo.extend(reversed(node.items))
        elif isinstance(node, Mapping):
            todo.extend([pair.value for pair in reversed(node.pairs) if not isinstance(pair.value, Scalar)])
            names = [key.value for key, _ in node.scalars()]
            if len(set(names)) < len(names):
                yield from _repeated(entry, node)


def _repeated(entry: Entry, mapping: Mapping) -> Iterator[Finding]:
    first: dict[tuple[str, str], tuple[Scalar, YamlNode]] = {}
    of = f' in "{entry.operator}"' if entry.operator is not None else ""
    begins_another = _where_another_begins(mapping) if mapping is entry.node else None
    for index, (key, value) in enumerate(mapping.scalars()):
        earlier, earlier_value = first.setdefault((key.kind, key.value), (key, value))
        if earlier is key:
            continue
        related = (Related("the first one", entry.place(earlier)),)
        if mapping is entry.node and key.value == NAME:
            which = f' "{entry.operator}"' if entry.operator is not None else ""
            help_text = 'start a new entry with "- " before it'
            yield Finding(entry.place(key), f'the entry{which} has a second "name"', help=help_text, related=related)
            # the following keys belong to the other entry
            return
        help_text = "keep one of the two"
        if not isinstance(value, Mapping):
            help_text += "; each argument has one formula"
        is_another = index == begins_another
        if is_another:
            help_text = 'start a new entry with "- name: ..." before it, or keep one of the two'
        yield Finding(
            entry.place(key),
            f"the key {quoted(key.value)} occurs twice{of}",
            help=help_text,
            related=related,
            fix=_fix(entry, mapping, key, value) if _same(value, earlier_value) else None,
        )
        if is_another:
            return


def _where_another_begins(mapping: Mapping) -> int | None:
    """Return the index of the key at which an entry without ``name`` seems to begin, or None: several keys recur.

    None if there is no such key.
    """
    names = [key.value for key, _ in mapping.scalars()]
    last = {name: index for index, name in enumerate(names)}
    seen: set[str] = set()
    # the keys that occur before and after the index
    again: set[str] = set()
    for index, name in enumerate(names):
        if name in seen and len(again) > 1:
            return index
        seen.add(name)
        if last[name] > index:
            again.add(name)
        else:
            again.discard(name)
    return None


def _same(first: YamlNode, second: YamlNode) -> bool:
    """Whether two values have the same text, in any notation."""
    return (
        isinstance(first, Scalar)
        and isinstance(second, Scalar)
        and (first.kind, first.value) == (second.kind, second.value)
    )


def _fix(entry: Entry, mapping: Mapping, key: Scalar, value: YamlNode) -> Fix | None:
    span = removal(mapping, Pair(key, value))
    return Fix("remove the repetition", (TextEdit(span.shift(entry.start), ""),)) if span is not None else None
