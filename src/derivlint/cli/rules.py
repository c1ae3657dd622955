"""``derivlint rules`` and ``derivlint rule NAME``."""

from __future__ import annotations

import json

import click

from derivlint.cli.terminal import write
from derivlint.formats.rule_page import rule_facts, rule_lines, rule_page
from derivlint.project.errors import InputError
from derivlint.project.settings import unknown_rule
from derivlint.rules import NAMES, load_rule, load_rules


@click.command(short_help="List the rules.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rules(output_format: str) -> None:
    """List the rules: name, severity, confidence, status, whether findings have a fix, and what it is about."""
    loaded = load_rules()
    if output_format == "json":
        document = {"version": 1, "rules": [rule_facts(rule) for rule in loaded]}
        write(json.dumps(document, indent=2, ensure_ascii=False) + "\n", utf8=True)
        return
    write("".join(f"{line}\n" for line in rule_lines(loaded)))


@click.command(short_help="Explain a rule.")
@click.argument("name")
def rule(name: str) -> None:
    """Explain the rule NAME: what it detects, why that is bad, an example, and what to write instead."""
    if name not in NAMES:
        raise InputError(unknown_rule(name, set(NAMES)))
    write(rule_page(load_rule(name)))
