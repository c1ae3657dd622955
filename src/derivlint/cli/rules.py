"""``derivlint rules`` and ``derivlint rule NAME``."""

from __future__ import annotations

import io
import json
import shutil

import click

from derivlint.cli import completion
from derivlint.cli.shared.terminal import is_terminal, wants_color, warn, write, write_json, write_rendered
from derivlint.formats.rule_page import rule_document, rule_facts, rule_lines, rule_metadata, rule_page
from derivlint.project.errors import InputError
from derivlint.project.settings import unknown_rule
from derivlint.rules import EXTRA_FINDINGS, NAMES, RENAMED, load_rule, load_rules

VERSION = 1
#: The maximum width of a page: longer lines are hard to read.
MAX_WIDTH = 100


@click.command(short_help="List the rules.")
@click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Write text or a machine-readable format.",
)
def rules(output_format: str) -> None:
    """List the rules by group, with severity, confidence, status and fixes."""
    loaded = load_rules()
    if output_format == "json":
        _write_json([rule_facts(rule) for rule in loaded])
        return
    write("".join(f"{line}\n" for line in rule_lines(loaded)))


@click.command(short_help="Explain a rule.")
@click.argument("name", required=False, shell_complete=completion.rules)
@click.option("--all", "every", is_flag=True, help="Explain every rule.")
@click.option(
    "--output-format",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="Write text or a machine-readable format.",
)
def rule(name: str | None, every: bool, output_format: str) -> None:
    """Explain a rule: what it detects, why that is wrong, an example, and the remedy."""
    if (name is None) != every:
        raise InputError("name a rule, or use --all")
    if name is not None and name in RENAMED:
        warn(f'rule "{name}" is now called "{RENAMED[name]}"')
        name = RENAMED[name]
    if name in EXTRA_FINDINGS:
        metadata = rule_metadata(name)
        if output_format == "json":
            _write_json([{"name": name, "summary": metadata.summary, "url": metadata.url}])
        else:
            write(metadata.page)
        return
    if name is not None and name not in NAMES:
        raise InputError(unknown_rule(name, {*NAMES, *EXTRA_FINDINGS}))
    chosen = (load_rule(name),) if name is not None else load_rules()
    if output_format == "json":
        _write_json([rule_document(item) for item in chosen])
        return
    text = "\n".join(map(rule_page, chosen))
    # Markdown is readable as it is; on a terminal it is rendered
    if output_format == "text" and is_terminal() and wants_color("auto"):
        write_rendered(_drawn(text))
    else:
        write(text)


def _write_json(items: list[dict[str, object]]) -> None:
    write_json(json.dumps({"version": VERSION, "rules": items}, indent=2, ensure_ascii=False) + "\n")


def _drawn(text: str) -> str:
    from rich.console import Console
    from rich.markdown import Markdown

    target = io.StringIO()
    width = min(MAX_WIDTH, shutil.get_terminal_size().columns)
    Console(file=target, force_terminal=True, color_system="standard", width=width).print(
        Markdown(text, hyperlinks=False)
    )
    return target.getvalue()
