"""The generated tables of the documentation: settings, options, commands, formats, keys of JSON, public names."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

import click

import derivlint
from derivlint.cli.shared.help import option_record
from derivlint.formats.machine.json_format import findings_schema
from derivlint.formats.registry import FORMATS
from derivlint.project.settings import Settings
from derivlint.project.settings.keys import KEYS, described, toml
from derivlint.rules import load_rules

#: The mark of a paragraph of help that click does not wrap.
UNWRAPPED = "\b"


def settings() -> str:
    """Return the table of the configuration's keys."""
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
    """Return the table of the options of rules."""
    rows = []
    for rule in load_rules():
        for option in rule.meta.options:
            default = toml(option.default)
            rows.append((f"[{rule.name}](rules/{rule.name}.md)", f"`{option.name}`", _code(default), option.doc))
    return table(("rule", "option", "default", "what it does"), rows)


def formats() -> str:
    """Return the table of the formats of ``derivlint check``."""
    return table(("format", "who reads it"), [(f"`{item.name}`", item.description) for item in FORMATS.values()])


def findings_keys() -> str:
    """Return the tables of the keys in the JSON of findings, one for each kind of object."""
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


#: The minimum number of commands with an option for documenting it in the shared table.
SHARED_BY = 3
SHARED_TITLE = "Options of several commands"


#: The public members by class; all fields and methods of other classes are public.
MEMBERS = {
    "DerivedGraph": "dot expression svg torchscript",
    "DerivativeFormula": "derivative entry forward key_span key_text parsed role span_of text value_span",
    "DispatchBody": "derivatives forwards info",
    "Entry": "formulas name_span operator span",
    "Formula": "problems tree words",
    "Model": "infos n_entries n_formulas node_name source",
    "Node": "children end start",
    "Report": "exit_status file_of findings position render to_json",
    "SourceFile": "position slice",
}


#: Attributes without an annotation in the class.
ATTRIBUTES = {
    "DispatchBody": ("entry: Entry", "formulas: tuple[DerivativeFormula, ...]", "key: str"),
    "Entry": ("bodies: tuple[DispatchBody, ...]", "index: int"),
    "ErrorsInFileError": ("findings: tuple[Diagnostic, ...]", "messages: tuple[str, ...]"),
    "Formula": ("text: str",),
    "InputError": ("messages: tuple[str, ...]",),
    "ConfigurationError": ("messages: tuple[str, ...]",),
    "Model": ("entries: Sequence[Entry]", "version: str | None"),
    "SourceFile": ("path: str", "text: str"),
}


def public_names() -> str:
    """Return the names of the Python API with their signatures."""
    lines = []
    for name in derivlint.__all__:
        value = getattr(derivlint, name)
        if isinstance(value, type):
            base = f"({value.__mro__[1].__name__})" if issubclass(value, Exception) else ""
            lines += [f"class {name}{base}:", *_members(value), ""]
        elif callable(value) and inspect.isfunction(value):
            lines += [f"def {name}{_signature(value)}", ""]
    return "```text\n" + "\n".join(lines).rstrip() + "\n```\n"


def _members(cls: type) -> Iterator[str]:
    if issubclass(cls, Enum):
        yield from (f"    {item.name} = {item.value!r}" for item in cls)
        return
    listed = MEMBERS.get(cls.__name__)
    yield from (f"    {attribute}" for attribute in ATTRIBUTES.get(cls.__name__, ()))
    if issubclass(cls, Exception):
        return
    hints = {name: hint for part in reversed(cls.__mro__) for name, hint in inspect.get_annotations(part).items()}
    fields: Sequence[str] = getattr(cls, "__struct_fields__", getattr(cls, "_fields", ()))
    names = listed.split() if listed else [*fields, *(name for name in vars(cls) if _is_method(cls, name))]
    for name in sorted(names):
        member = inspect.getattr_static(cls, name, None)
        function = getattr(member, "fget", None) or getattr(member, "func", None)
        if function is not None:
            yield f"    {name}: {inspect.get_annotations(function)['return']}"
        elif inspect.isfunction(member):
            yield f"    def {name}{_signature(member)}"
        else:
            hint = hints[name]
            yield f"    {name}: {getattr(hint, '__forward_arg__', hint)}"


def _is_method(cls: type, name: str) -> bool:
    """Whether a name is a public method or property."""
    member = inspect.getattr_static(cls, name)
    return not name.startswith("_") and name != "identity" and (inspect.isfunction(member) or hasattr(member, "fget"))


class _Verbatim(str):
    """An annotation that a signature shows without quotes."""

    __slots__ = ()

    __repr__ = str.__str__


def _signature(function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    parameters = [item.replace(annotation=_shown(item.annotation)) for item in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=_shown(signature.return_annotation)))


def _shown(annotation: object) -> object:
    return _Verbatim(annotation) if isinstance(annotation, str) else annotation


def commands() -> str:
    """Return the table of shared options, then each listed command with its arguments and own options."""
    from derivlint.cli.main import cli

    root = click.Context(cli, info_name="derivlint", terminal_width=100, max_content_width=100)
    rows = [(command, context, _options(command, context)) for command, context in _all(cli, root)]
    counts = Counter(row for _, _, own in rows for row in own)
    shared = [row for row, count in counts.items() if count >= SHARED_BY]
    parts = [f"## {SHARED_TITLE}\n", table(("option", "what it does"), shared)]
    return "\n".join((*parts, *(_command(command, context, own, shared) for command, context, own in rows)))


def _all(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Yield the commands of a group and its subgroups, each with its context."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if command.hidden:
            continue
        inner = click.Context(command, parent=context, info_name=name, terminal_width=100, max_content_width=100)
        yield command, inner
        if isinstance(command, click.Group):
            yield from _all(command, inner)


def _command(
    command: click.Command, context: click.Context, options: list[tuple[str, str]], shared: list[tuple[str, str]]
) -> str:
    usage = command.get_usage(context).partition(" ")[2]
    text = "\n\n".join(map(_paragraph, (command.help or "").split("\n\n")))
    parts = [f"## {context.command_path}\n", f"```text\n{' '.join(usage.split())}\n```\n", f"{text}\n"]
    rows = [row for row in options if row not in shared]
    if rows:
        parts.append(table(("option", "what it does"), rows))
    long = (
        next(word.strip(",") for word in row[0].strip("`").split() if word.startswith("--"))
        for row in options
        if row in shared
    )
    names = ", ".join(map(_code, long))
    if names:
        parts.append(
            f"{'Also' if rows else 'Options'} [as for other commands](#options-of-several-commands): {names}.\n"
        )
    return "\n".join(parts)


def _paragraph(text: str) -> str:
    """Format a paragraph of help; one that click does not wrap becomes a code block."""
    if text.startswith(UNWRAPPED):
        lines = text.removeprefix(UNWRAPPED).strip("\n").splitlines()
        return "\n".join(["```text", *(line.strip() for line in lines), "```"])
    return _escape(" ".join(text.split()))


def _options(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    records = [option_record(option, context) for option in command.params]
    return [(_code(names), _escape(" ".join(text.split()))) for names, text in filter(None, records)]


def _type(member: dict[str, Any]) -> str:
    """Describe the JSON type of a value."""
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
    """Format a Markdown table."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _code(text: str) -> str:
    return f"`{text}`"


def _escape(text: str) -> str:
    """Escape Markdown syntax."""
    for char in "\\`*_[<":
        text = text.replace(char, f"\\{char}")
    return text
