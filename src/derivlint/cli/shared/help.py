"""Help with options in groups, and commands as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import click

#: The options of each group, by the names of their parameters; others stand under ``Options``.
OPTION_GROUPS: Mapping[str, tuple[str, ...]] = {
    "Input": (
        *("compiler", "config", "exclude", "force_exclude", "forward", "headers", "helper_bodies", "helpers"),
        *(
            "native_functions",
            "no_config",
            "pytorch_operators",
            "schema",
            "sources",
            "stdin_filename",
            "tags",
            "torch",
            "untrusted",
        ),
    ),
    "Selection": (
        *("against", "changed", "diff_base", "dtype", "everything", "extend_select", "ignore", "key", "min_confidence"),
        *("min_severity", "missing", "no_base", "ops", "preview", "select", "wrt"),
    ),
    "Output": (
        *(
            "color",
            "coverage",
            "exit_zero",
            "fail_level",
            "no_code",
            "out",
            "output_file",
            "output_format",
            "page",
            "precision",
            "quiet",
            "scripts",
        ),
        *("show_files", "show_settings", "statistics", "verbose", "watch"),
    ),
    "Fixing": ("diff", "fix", "fix_only", "unsafe_fixes"),
    "Known findings": (*("add_ignores", "baseline", "no_ignores", "prune_baseline", "update_baseline"),),
    "Caching": ("no_cache", "no_resume"),
}
OTHERS = "Options"

#: The commands of each group.
COMMAND_GROUPS: Mapping[str, tuple[str, ...]] = {
    "Check": ("check", "verify", "review", "coverage"),
    "Look up": ("rules", "rule", "show", "model", "index"),
    "Write": ("new", "derive", "emit"),
    "Set up": ("lsp", "completion", "clean"),
}


class GroupedCommand(click.Command):
    """A command whose help has its options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, those without a group first."""
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in (OTHERS, *OPTION_GROUPS)}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                groups[group_of(parameter)].append(record)
        _write(formatter, groups.items())


def group_of(parameter: click.Parameter) -> str:
    """The title of the group that an option stands in."""
    return next((title for title, names in OPTION_GROUPS.items() if parameter.name in names), OTHERS)


def format_commands(group: click.Group, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the commands of the program in groups."""
    width = formatter.width - 6 - max(map(len, group.list_commands(ctx)))
    groups = []
    for title, names in COMMAND_GROUPS.items():
        commands = ((name, group.get_command(ctx, name)) for name in names)
        groups.append(
            (title, [(name, command.get_short_help_str(width)) for name, command in commands if command is not None])
        )
    _write(formatter, groups)


def _write(formatter: click.HelpFormatter, groups: Iterable[tuple[str, list[tuple[str, str]]]]) -> None:
    for title, rows in groups:
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)
