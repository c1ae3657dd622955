"""The tables of the documentation that are made from the code: settings, options, commands, formats, keys of JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from derivlint.formats.machine.json_schema import findings_schema
from derivlint.formats.registry import FORMATS
from derivlint.project.settings import Settings
from derivlint.project.settings.described import described, toml
from derivlint.project.settings.keys import KEYS
from derivlint.rules import load_rules

#: Begins a paragraph of help that click leaves as it is.
UNWRAPPED = "\b"


def settings() -> str:
    """The keys of the configuration."""
    from derivlint.cli.checking.check import check

    defaults = {name: value for name, value, _ in described(Settings())}
    flags = {option.name: option.opts[0] for option in check.params if isinstance(option, click.Option)}
    rows = []
    for key in KEYS.values():
        flag = flags.get(key.field)
        rows.append(
            (
                f"`{key.name}`",
                key.kind.expected,
                _code(defaults[key.name]) if defaults[key.name] not in ("unset", "[]", "{}") else "",
                _code(flag) if flag else "",
                key.doc,
            )
        )
    return table(("key", "takes", "default", "option", "what it does"), rows)


def options_of_rules() -> str:
    """The options of rules."""
    rows = []
    for rule in load_rules():
        for option in rule.meta.options:
            default = toml(option.default)
            rows.append((f"[{rule.name}](rules/{rule.name}.md)", f"`{option.name}`", _code(default), option.doc))
    return table(("rule", "option", "default", "what it does"), rows)


def formats() -> str:
    """The formats of ``derivlint check``."""
    return table(("format", "who reads it"), [(f"`{item.name}`", item.description) for item in FORMATS.values()])


def findings_keys() -> str:
    """The keys of the JSON of findings, a table for each kind of object."""
    schema = findings_schema()
    objects = {"the document": schema, **{f"`{name}`": value for name, value in schema["definitions"].items()}}
    parts = []
    for title, value in objects.items():
        rows = [
            (f"`{name}`", _type(member), member.get("description", ""))
            for name, member in value.get("properties", {}).items()
        ]
        if rows:
            parts.append(f"{title[:1].upper()}{title[1:]}:\n\n{table(('key', 'type', 'what it says'), rows)}")
    return "\n".join(parts)


def commands() -> str:
    """Every command that is listed, with its arguments and options."""
    from derivlint.cli.main import cli

    root = click.Context(cli, info_name="derivlint", terminal_width=100, max_content_width=100)
    return "\n".join(_command(command, context) for command, context in _all(cli, root))


def _all(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """The commands of a group, and of the groups in it, each with its context."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if command.hidden:
            continue
        inner = click.Context(command, parent=context, info_name=name, terminal_width=100, max_content_width=100)
        yield command, inner
        if isinstance(command, click.Group):
            yield from _all(command, inner)


def _command(command: click.Command, context: click.Context) -> str:
    usage = command.get_usage(context).partition(" ")[2]
    text = "\n\n".join(map(_paragraph, (command.help or "").split("\n\n")))
    parts = [f"## {context.command_path}\n", f"```text\n{' '.join(usage.split())}\n```\n", f"{text}\n"]
    rows = [_option(option, context) for option in command.params if isinstance(option, click.Option)]
    rows = [row for row in rows if row[0]]
    if rows:
        parts.append(table(("option", "what it does"), rows))
    return "\n".join(parts)


def _paragraph(text: str) -> str:
    """A paragraph of a command's help; one that click does not wrap stays as it is."""
    if text.startswith(UNWRAPPED):
        lines = text.removeprefix(UNWRAPPED).strip("\n").splitlines()
        return "\n".join(["```text", *(line.strip() for line in lines), "```"])
    return _escape(" ".join(text.split()))


def _option(option: click.Option, context: click.Context) -> tuple[str, str]:
    if option.hidden:
        return "", ""
    record = option.get_help_record(context)
    assert record is not None
    names, text = record
    return _code(names), _escape(" ".join(text.split()))


def _type(member: dict[str, Any]) -> str:
    """The type of a value as a phrase."""
    if "$ref" in member:
        return f"`{member['$ref'].rpartition('/')[2]}`"
    if "anyOf" in member:
        return " or ".join(_type(item) for item in member["anyOf"])
    if "enum" in member:
        return ", ".join(_code(str(item)) for item in member["enum"])
    if "const" in member:
        return _code(str(member["const"]))
    kind = member["type"]
    if kind == "array":
        return f"list of {_type(member['items'])}"
    return str(kind)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _code(text: str) -> str:
    return f"`{text}`"


def _escape(text: str) -> str:
    """Text in which nothing is Markdown that is not meant to be."""
    for char in "\\`*_[<":
        text = text.replace(char, f"\\{char}")
    return text
