"""``python -m tools.new_rule``: creates a working rule that passes the tests of rules."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

import click

from derivlint.cli.shared.terminal import write
from derivlint.lint import INTERNAL_ERROR, RuleMeta, Severity
from derivlint.lint.option import GROUPS, Group
from derivlint.lint.wording import quoted
from derivlint.project.errors import InputError
from derivlint.rules import EXTRA_FINDINGS, RENAMED
from derivlint.version import __version__
from tools.running import Tool, write_atomically

#: The module that lists the names of all rules, one a line.
REGISTRY = Path("rules/__init__.py")
_NAMES = re.compile(r"^NAMES: tuple\[str, \.\.\.\] = \(\n(?P<names>(?:    \"[^\"\n]+\",\n)+)\)\n", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
#: The first words of rejected names: a name states the mistake, not the cure.
_VERBS = ("check", "disallow", "forbid", "prefer", "require")

#: The checks of the skeleton, which report factors of one, by the kind of object that they are applied to.
_NODE = '''
@judges(Binary, DerivativeFormula)
def check(node: Binary, formula: DerivativeFormula) -> Iterator[Finding]:
    """Judge one product of a formula."""
'''
_FORMULA = '''
@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Judge one key with its formula."""
    for node in formula.parsed.nodes if formula.is_expression else ():
'''
_BODY = '''
@judges(DispatchBody)
def check(body: DispatchBody) -> Iterator[Finding]:
    """Judge the formulas of one dispatch key."""
    products = [(formula, node) for formula in body.formulas if formula.is_expression for node in formula.parsed.nodes]
    for formula, node in products:
'''
_ENTRY = '''
@judges(Entry)
def check(entry: Entry) -> Iterator[Finding]:
    """Judge one entry."""
    formulas = [formula for body in entry.bodies for formula in body.formulas if formula.is_expression]
    products = [(formula, node) for formula in formulas for node in formula.parsed.nodes]
    for formula, node in products:
'''
_MODEL = '''
@judges(Model)
def check(model: Model) -> Iterator[Finding]:
    """Judge a whole file; a rule that can look at entries does not go through them itself."""
    formulas = [formula for entry in model.entries for body in entry.bodies for formula in body.formulas]
    products = [(formula, node) for formula in formulas if formula.is_expression for node in formula.parsed.nodes]
    for formula, node in products:
'''
_SUBJECTS = {
    "node": ("DerivativeFormula", _NODE),
    "formula": ("DerivativeFormula", _FORMULA),
    "body": ("DispatchBody", _BODY),
    "entry": ("Entry", _ENTRY),
    "model": ("Model", _MODEL),
}

#: A working rule: it reports factors of one, and shows the use of trees, fixes and precedence.
SKELETON = Template('''\
"""$summary: a factor of one, until you write what.

## What it detects
The form of YAML or formula that gives a finding, and what looks alike and gives none.

## Why it is bad
What PyTorch's generator, its compiler or a user's gradient makes of it.

## Example
    - name: clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
      self: grad * 1

## Instead
    - name: clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
      self: grad

## Fix safety
The fix is unsafe: a factor of one can be what is left of a slip.

## Sources
The file of PyTorch and the function in it that show it.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formula import Binary, Number
from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.edits import formula_fix
from derivlint.lint.engine.precedence import UNCOMPILED_HERE
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import $type

META = RuleMeta(
    $facts,
    yields_to=(UNCOMPILED_HERE,),
)

VALID = (
    """\\
- name: mul.Scalar(Tensor self, Scalar other) -> Tensor
  self: mul_tensor_backward(grad, at::scalar_to_tensor(other), self.scalar_type())
""",
)

INVALID = (
    # the example of the docstring
    Invalid(
        at="2:9-17",
        message='"grad" is multiplied by 1',
        help='write "grad"',
        fixed="  self: grad",
    ),
    Invalid(
        """\\
- name: neg(Tensor self) -> Tensor
  self: (grad * 1).neg()
""",
        at="2:10-18",
        message='"grad" is multiplied by 1',
        fixed="  self: (grad).neg()",
    ),
)

$check''')

CHECKLIST = """\
wrote {path}, registered in {registry}; what is left (CONTRIBUTING.md, "Adding a rule"):

1. state the fact in src/derivlint/model, computed from syntax trees, if the model lacks it
2. write the docstring: the example gives the finding, what stands under "Instead" does not
3. make the VALID and INVALID cases yours, at least two each with those of the docstring; INVALID ones have place,
   message, and the line after the fix
4. make the check yours: pass spans of model objects, never compute positions; message: fact first, cure in help
5. choose severity, confidence and group; take away status="preview" once it is silent on PyTorch's own files
6. pytest tests/rules tests/conformance
7. python -m tools.docs, and a line in CHANGELOG.md
"""


@click.command("new-rule", cls=Tool)
@click.argument("name")
@click.option(
    "--target",
    type=click.Choice(list(_SUBJECTS)),
    default="node",
    show_default=True,
    help="Check this kind of object.",
)
@click.option(
    "--severity",
    type=click.Choice([severity.value for severity in reversed(Severity)]),
    default=Severity.WARNING.value,
    show_default=True,
    help="Report findings with this severity.",
)
@click.option(
    "--group", type=click.Choice(list(GROUPS)), default="style", show_default=True, help="Put the rule into this group."
)
@click.option(
    "--root",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("."),
    help="Use this checkout of derivlint.",
)
def new_rule(name: str, target: str, severity: str, group: Group, root: Path) -> None:
    """Create and register the rule NAME.

    NAME states the bad pattern in words with hyphens, and reads as "allow ...": grads-index-out-of-range. The new
    rule works, with a fix and passing cases: it reports factors of one. Replace them by yours.
    """
    registry = root / REGISTRY
    try:
        text = registry.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f'cannot read "{registry}": {error.strerror}') from error
    match = _NAMES.search(text)
    if match is None:
        raise InputError(f'"{registry}" has no list NAMES with a name on each line')
    names = re.findall(r'"([^"]+)"', match["names"])
    path = REGISTRY.parent / f"{name.replace('-', '_')}.py"
    _refuse(name, names, root / path)
    listed = "".join(f'    "{item}",\n' for item in sorted([*names, name]))
    write_atomically(root / path, skeleton(name, target, Severity(severity), group).encode())
    write_atomically(registry, f"{text[: match.start('names')]}{listed}{text[match.end('names') :]}".encode())
    write(CHECKLIST.format(path=path.as_posix(), registry=REGISTRY.as_posix()))


def _refuse(name: str, names: list[str], path: Path) -> None:
    """Reject an invalid name of a rule.

    Raises:
        InputError: the name is invalid or in use.
    """
    if name in names:
        raise InputError(f"there is a rule {quoted(name)} already")
    if name in RENAMED:
        raise InputError(f"{quoted(name)} is the former name of {quoted(RENAMED[name])}; names are never reused")
    if name in (INTERNAL_ERROR, *EXTRA_FINDINGS):
        raise InputError(f"{quoted(name)} is the name of findings without a rule")
    if _NAME.fullmatch(name) is None:
        raise InputError(f"{quoted(name)} must be lower-case words joined by hyphens, two or more")
    verb = name.partition("-")[0]
    if verb in _VERBS:
        raise InputError(f"{quoted(name)} must name the bad pattern; {quoted(verb)} names the cure")
    if path.exists():
        raise InputError(f'"{path}" exists and is not registered')


def skeleton(name: str, target: str, severity: Severity, group: Group) -> str:
    """Return the text of a working rule, as a starting point."""
    kind, check = _SUBJECTS[target]
    facts = [f"severity=Severity.{severity.name}", f'group="{group}"', 'status="preview"']
    if __version__ != RuleMeta(severity, group).since:
        facts.append(f'since="{__version__}"')
    summary = name.replace("-", " ").capitalize()
    return SKELETON.substitute(summary=summary, type=kind, check=check + _finding(target), facts=",\n    ".join(facts))


def _finding(target: str) -> str:
    """Return the statements that report a node, with the indentation of the check."""
    is_product = 'node.op == "*" and isinstance(node.right, Number) and node.right.text == "1"'
    if target != "node":
        is_product = f"isinstance(node, Binary) and {is_product}"
    lines = [
        f"if {is_product}:",
        "    factor = formula.parsed.text[node.left.start : node.left.end]",
        "    yield Finding(",
        "        formula.span_of(node),",
        '        f"{quoted(factor)} is multiplied by 1",',
        '        help=f"write {quoted(factor)}",',
        '        fix=formula_fix(formula, "remove the factor", [(node.left.end, node.end, "")]),',
        *([] if target in ("node", "formula") else ["        at=formula,"]),
        "    )",
    ]
    depth = "    " if target == "node" else "        "
    return "".join(f"{depth}{line}\n" for line in lines)


if __name__ == "__main__":
    new_rule()
