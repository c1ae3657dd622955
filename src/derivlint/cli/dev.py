"""``derivlint dev``: what developers of derivlint need."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from string import Template

import click

from derivlint import __version__
from derivlint.cli.docs import docs
from derivlint.cli.index import shipped, write_atomically
from derivlint.cli.release import release
from derivlint.cli.terminal import write
from derivlint.lint import INTERNAL_ERROR, RuleMeta, Severity
from derivlint.lint.groups import GROUPS, Group
from derivlint.lint.wording import quoted
from derivlint.project.errors import InputError
from derivlint.rules import BESIDES, RENAMED

#: Where rules are registered: the names of all of them, one a line.
REGISTRY = Path("rules/__init__.py")
_NAMES = re.compile(r"^NAMES: tuple\[str, \.\.\.\] = \(\n(?P<names>(?:    \"[^\"\n]+\",\n)+)\)\n", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
#: Names say what is bad, never what is done about it.
_VERBS = ("check", "disallow", "forbid", "prefer", "require")

#: The type of each target that rules have, and a phrase for it.
_SUBJECTS = {
    "model": ("Model", "a whole file"),
    "entry": ("Entry", "one entry"),
    "body": ("DispatchBody", "the formulas of one dispatch key"),
    "line": ("KeyedFormula", "one key with its formula"),
}

#: A rule that finds nothing and has everything else that rules have but cases, which its tests ask for.
SKELETON = Template('''\
"""$summary.

## What it detects

The form of YAML or formula that gives a finding, and what looks alike and gives none.

## Why it is bad

What PyTorch's generator, its compiler or a user's gradient makes of it.

## Example

    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Instead

    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Sources

The file of PyTorch and the function in it that show it.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.model import $type

META = RuleMeta($facts)

VALID: tuple[str, ...] = ()

INVALID: tuple[Invalid, ...] = ()


@judges($type)
def check($target: $type) -> Iterator[Finding]:
    """Judge $phrase."""
    yield from ()
''')

CHECKLIST = """\
wrote {path}, registered in {registry}; what is left (CONTRIBUTING.md, "Adding a rule"):

1. state the fact in src/derivlint/model, computed from syntax trees, if the model lacks it
2. write the docstring: the example gives the finding, what stands under "Instead" does not
3. write at least two VALID and two INVALID cases, the latter with place, message and text after the fix
4. write check: pass spans of model objects, never compute positions; message: fact first, cure in help
5. choose severity, confidence and group; take away status="preview" once it is silent on PyTorch's own files
6. pytest tests/rules tests/conformance
7. derivlint dev docs build, and a line in CHANGELOG.md
"""


@click.group(hidden=True)
def dev() -> None:
    """Work on derivlint itself."""


dev.add_command(release)
dev.add_command(docs)
dev.add_command(shipped)


@dev.command()
def table() -> None:
    """Write the parser's table of grammar/formula.lark, as Lark makes it."""
    from derivlint.formula.builder import TreeBuilder
    from derivlint.formula.grammar_tables import describe, table_json
    from derivlint.grammar import grammar_text, table_path

    made = table_json(describe(grammar_text("formula"), TreeBuilder()))
    write_atomically(table_path("formula"), made.encode())


@dev.command(short_help="Find rules that report the same slip.")
@click.option("--seed", default=1, metavar="N", help="Which slips.")
@click.option("--count", default=2000, metavar="N", help="How many slips.")
@click.option(
    "--root", default=".", type=click.Path(path_type=Path, file_okay=False), help="The checkout of derivlint."
)
def clashes(seed: int, count: int, root: Path) -> None:
    """Make slips in the derivatives.yaml of the installed PyTorch, and list which rules report the same one.

    One of two rules that do should yield to the other, by META.yields_to.
    """
    if not (root / "tests" / "slips").is_dir():
        raise InputError(f'"{root}" is not a checkout of derivlint; name it with --root')
    command = [sys.executable, "-m", "tests.slips", "--seed", str(seed), "--count", str(count), "--clashes"]
    raise SystemExit(subprocess.run(command, cwd=root, check=False).returncode)


@dev.command("new-rule", short_help="Begin a rule.")
@click.argument("name")
@click.option(
    "--target",
    type=click.Choice(list(_SUBJECTS)),
    default="line",
    show_default=True,
    help="What its check looks at.",
)
@click.option(
    "--severity",
    type=click.Choice([severity.value for severity in reversed(Severity)]),
    default=Severity.WARNING.value,
    show_default=True,
    help="How bad its findings are.",
)
@click.option("--group", type=click.Choice(list(GROUPS)), default="style", show_default=True, help="What it is about.")
@click.option("--root", type=click.Path(file_okay=False, path_type=Path), default=Path("."), help="The repository.")
def new_rule(name: str, target: str, severity: str, group: Group, root: Path) -> None:
    """Begin the rule NAME: write its file, register it, and say what is left to do.

    NAME states the bad pattern in words with hyphens, and reads as "allow ...": grads-index-out-of-range. The tests of
    rules fail until the rule has cases.
    """
    registry = root / REGISTRY
    try:
        text = registry.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f'cannot read "{registry}": {error.strerror}') from error
    found = _NAMES.search(text)
    if found is None:
        raise InputError(f'"{registry}" has no list NAMES with a name on each line')
    names = re.findall(r'"([^"]+)"', found["names"])
    path = REGISTRY.parent / f"{name.replace('-', '_')}.py"
    _refuse(name, names, root / path)
    listed = "".join(f'    "{item}",\n' for item in sorted([*names, name]))
    write_atomically(root / path, skeleton(name, target, Severity(severity), group).encode())
    write_atomically(registry, f"{text[: found.start('names')]}{listed}{text[found.end('names') :]}".encode())
    write(CHECKLIST.format(path=path.as_posix(), registry=REGISTRY.as_posix()))


def _refuse(name: str, names: list[str], path: Path) -> None:
    """Say why a rule cannot have a name.

    Raises:
        InputError: it cannot.
    """
    if name in names:
        raise InputError(f"there is a rule {quoted(name)} already")
    if name in RENAMED:
        raise InputError(f"{quoted(name)} is what {quoted(RENAMED[name])} was called; names are never used again")
    if name in (INTERNAL_ERROR, *BESIDES):
        raise InputError(f"{quoted(name)} is the name of findings that come from no rule")
    if _NAME.fullmatch(name) is None:
        raise InputError(f"{quoted(name)} must be lower-case words joined by hyphens, two or more")
    verb = name.partition("-")[0]
    if verb in _VERBS:
        raise InputError(f"{quoted(name)} must name the bad pattern; {quoted(verb)} says what is done about it")
    if path.exists():
        raise InputError(f'"{path}" exists and is not registered')


def skeleton(name: str, target: str, severity: Severity, group: Group) -> str:
    """The text of a rule that has no cases yet."""
    kind, phrase = _SUBJECTS[target]
    facts = [f"severity=Severity.{severity.name}", f'group="{group}"', 'status="preview"']
    if __version__ != RuleMeta(severity, group).since:
        facts.append(f'since="{__version__}"')
    summary = name.replace("-", " ").capitalize()
    return SKELETON.substitute(summary=summary, type=kind, phrase=phrase, target=target, facts=", ".join(facts))
