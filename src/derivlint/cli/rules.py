"""``derivlint rules`` and ``derivlint rule NAME``."""

from __future__ import annotations

import json

import click

from derivlint.cli.exits import InputError
from derivlint.cli.settings import unknown_rule
from derivlint.formats.rule_page import rule_facts, rule_page
from derivlint.rules import NAMES, load_rule, load_rules


@click.command(short_help="List the rules.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rules(output_format: str) -> None:
    """List the rules: name, severity, whether it has a fix, and what it is about."""
    loaded = load_rules()
    if output_format == "json":
        click.echo(json.dumps({"version": 1, "rules": [rule_facts(rule) for rule in loaded]}, indent=2))
        return
    width = max(len(rule.name) for rule in loaded)
    for rule in loaded:
        marks = "fix" if rule.fixable else "   "
        preview = " (preview)" if rule.meta.status == "preview" else ""
        click.echo(f"{rule.name:{width}}  {rule.meta.severity.value:7}  {marks}  {rule.summary}{preview}")


@click.command(short_help="Explain a rule.")
@click.argument("name")
def rule(name: str) -> None:
    """Explain the rule NAME: what it detects, why that is bad, an example, and what to write instead."""
    if name not in NAMES:
        raise InputError(unknown_rule(name, set(NAMES)))
    click.echo(rule_page(load_rule(name)))
