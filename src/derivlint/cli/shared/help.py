"""Help with options and commands in groups, and options with former names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

import click

from derivlint.cli.shared.terminal import warn

#: The options of each group, by parameter name; others are listed under ``Options``.
OPTION_GROUPS: Mapping[str, tuple[str, ...]] = {
    title: tuple(names.split())
    for title, names in {
        "Input": "compiler config exclude force_exclude forward headers helper_bodies helpers native_functions no_cache"
        " no_config no_resume pytorch_operators schema sources stdin_filename tags torch untrusted",
        "Selection": "against changed diff_base dtype everything extend_select ignore key min_confidence min_severity"
        " missing no_base ops preview select wrt",
        "Output": "color compare coverage exit_zero fail_level no_code out output_file output_format page precision"
        " quiet scripts show_files show_fixes show_settings statistics verbose watch",
        "Fixing": "diff fix fix_only unsafe_fixes writes",
        "Known findings": "add_ignores baseline no_ignores prune_baseline update_baseline",
    }.items()
}
OTHERS = "Options"

#: The commands of each group.
COMMAND_GROUPS: Mapping[str, tuple[str, ...]] = {
    "Check": ("check", "suggest", "verify", "run", "review", "coverage"),
    "Look up": ("rules", "rule", "show", "model", "index"),
    "Write": ("new", "derive", "emit"),
    "Set up": ("lsp", "completion", "clean"),
}


class GroupedCommand(click.Command):
    """A command whose help has its options in groups.

    Attributes:
        renamed: the current names of options by their former names, which work for a release.
    """

    renamed: ClassVar[Mapping[str, str]] = {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with former names of options replaced."""
        for old in dict.fromkeys(arg for arg in args if arg in self.renamed):
            warn(f'"{old}" is deprecated; use "{self.renamed[old]}"')
        return super().parse_args(ctx, [self.renamed.get(arg, arg) for arg in args])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options without blank lines between groups, those without a group first."""
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in (OTHERS, *OPTION_GROUPS)}
        for parameter in self.get_params(ctx):
            record = option_record(parameter, ctx)
            if record is not None:
                groups[group_of(parameter)].append(record)
        if len(groups[OTHERS]) == 1:
            # only --help
            groups["Output" if groups["Output"] else "Input"] += groups.pop(OTHERS)
        formatter.write_paragraph()
        for title, rows in groups.items():
            if rows:
                formatter.write_heading(title)
                with formatter.indentation():
                    formatter.write_dl(rows)


class EmitCommand(GroupedCommand):
    """A command that generates code."""

    renamed: ClassVar[Mapping[str, str]] = {"--force": "--allow-errors"}


def option_record(parameter: click.Parameter, context: click.Context) -> tuple[str, str] | None:
    """Return the names and the help of an option, or None if it is hidden; ``--[no-]x`` stands for both flags."""
    record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
    return record and (re.sub(r"--(\S+) / --no-\1", r"--[no-]\1", record[0]), record[1])


def group_of(parameter: click.Parameter) -> str:
    """Return the title of an option's group."""
    return next((title for title, names in OPTION_GROUPS.items() if parameter.name in names), OTHERS)


def format_commands(group: click.Group, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the commands of the program in groups."""
    width = formatter.width - 6 - max(map(len, group.list_commands(ctx)))
    for title, names in COMMAND_GROUPS.items():
        commands = ((name, group.get_command(ctx, name)) for name in names)
        rows = [(name, command.get_short_help_str(width)) for name, command in commands if command is not None]
        with formatter.section(title):
            formatter.write_dl(rows)
