"""``python -m tools.docs``: generates pages, blocks of handwritten pages, and derived data."""

from __future__ import annotations

import re
import shlex
from io import StringIO
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from derivlint.cli.shared.terminal import CLEAN, FINDINGS, warn, write
from derivlint.formats.rule_page import by_group, rule_page
from derivlint.lint import Rule
from derivlint.lint.wording import counted
from derivlint.project.errors import InputError
from derivlint.rules import load_rules
from tools.blocks import fill, output
from tools.blocks import pages as handwritten
from tools.running import Tool, write_atomically

#: The bundled JSON schemas of the configuration and of findings.
SETTINGS_SCHEMA = Path("src/derivlint/project/data/derivlint.schema.json")
FINDINGS_SCHEMA = Path("src/derivlint/project/data/findings.schema.json")
#: The facts and syntax trees derived from reference definitions, bundled because deriving them takes seconds.
DERIVED = Path("src/derivlint/operators/data/derived.txt")
TREES = DERIVED.with_name("trees.json")


@click.command(cls=Tool)
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a page is stale.")
@click.option(
    "--root",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("."),
    help="Use this checkout of derivlint.",
)
def docs(check: bool, root: Path) -> None:
    """Generate docs/rules, the generated blocks of other pages and README.md, and derived data."""
    texts = pages(root)
    folder = root / "docs" / "rules"
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    left_over = [path for path in sorted(folder.glob("*.md")) if path not in texts]
    if check:
        for path in (*stale, *left_over):
            warn(f'{path} is stale; run "python -m tools.docs"')
        click.get_current_context().exit(FINDINGS if stale or left_over else CLEAN)
    folder.mkdir(parents=True, exist_ok=True)
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, texts[path].encode())
    for path in left_over:
        path.unlink()
    write(f"{counted(len(stale) + len(left_over), 'page')} changed\n")


def pages(root: Path) -> dict[Path, str]:
    """Return the text of each generated file by path."""
    rules = load_rules()
    folder = root / "docs" / "rules"
    result = {folder / f"{rule.name}.md": rule_page(rule) for rule in rules}
    result[folder / "README.md"] = f"# Rules\n\n{rule_tables(rules)}"
    result.update(shipped(root))
    if (root / PICTURE).parent.is_dir():
        result[root / PICTURE] = picture(root)
    for path in (*handwritten(root), root / "README.md"):
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f'cannot read "{path}": {error.strerror}') from error
        result[path] = fill(text, path.relative_to(root), root)
    return result


def rule_tables(rules: tuple[Rule, ...]) -> str:
    """Format all rules as Markdown, a table per group; names link to pages in the same folder."""
    parts = []
    for group, about, members in by_group(rules):
        lines = [
            f"## {group}",
            "",
            f"{about[:1].upper()}{about[1:]}.",
            "",
            *_table("rule", "severity", "fix", "what it finds"),
        ]
        for rule in members:
            mark = "yes" if rule.fixable else ""
            lines += _table(f"[{rule.name}]({rule.name}.md)", rule.meta.severity.value, mark, rule.summary, title=False)
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _table(*cells: str, title: bool = True) -> list[str]:
    """Format a row of a Markdown table; a title row includes the line below it."""
    row = f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    return [row, f"| {' | '.join(['---'] * len(cells))} |"] if title else [row]


def shipped(root: Path) -> dict[Path, str]:
    """Return the JSON schemas and the derived data; empty in a folder without derivlint's sources."""
    from derivlint.formats.machine import json_format as of_findings
    from derivlint.operators.reference.definitions import definitions, written_trees
    from derivlint.operators.reference.derivation import derive
    from derivlint.operators.shapes.sizes import written_sizes
    from derivlint.project.settings import keys as of_settings

    if not (root / "src" / "derivlint").is_dir():
        return {}
    return {
        root / SETTINGS_SCHEMA: of_settings.schema_text(),
        root / FINDINGS_SCHEMA: of_findings.schema_text(),
        root / DERIVED: derive(),
        root / TREES: written_trees([*definitions().values(), *written_sizes().values()]),
    }


#: The image in the README, and the command whose output it shows.
PICTURE = Path("docs/images/check.svg")
COMMAND = (
    'derivlint check examples/derivatives.yaml --select "unknown-schema,unknown-key,missing-symint,nonlinear-gradient"'
    " --color always"
)
#: The width of the terminal in columns.
WIDTH = 124


def picture(root: Path) -> str:
    """Run the README's command in the repository and return its output as SVG."""
    text = output(shlex.split(COMMAND)[1:], PICTURE, root, limit=10 * WIDTH)  # escape codes count
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text(f"$ {COMMAND.removesuffix(' --color always')}\n", style="bold"))
    console.print(Text.from_ansi(text))
    # by default a digest, which differs between versions of rich
    svg = console.export_svg(title="derivlint", unique_id="derivlint") + "\n"
    # rich's template loads fonts from another host
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    docs()
