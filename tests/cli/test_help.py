"""Help in groups, completion of names, and suggestions for names that are misspelt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from derivlint.cli.main import COMMANDS, cli
from derivlint.cli.shared.help import COMMAND_GROUPS, OPTION_GROUPS, GroupedCommand, group_of
from derivlint.project.files import EXAMPLE
from tests.cli.conftest import SIN, Run


def grouped() -> dict[str, click.Command]:
    """The commands whose options are in groups, by their names."""
    context = click.Context(cli)
    found: dict[str, click.Command] = {}
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        if isinstance(command, GroupedCommand):
            found[name] = command
    return found


def test_every_command_stands_in_one_group(run: Run) -> None:
    listed = [name for names in COMMAND_GROUPS.values() for name in names]
    assert sorted(listed) == sorted(COMMANDS)
    out = run("--help").out
    for title, names in COMMAND_GROUPS.items():
        section = out.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines()] == list(names)


@pytest.mark.parametrize("arguments", [(), ("emit",), ("index",)])
def test_without_a_command_the_help_is_printed(run: Run, arguments: tuple[str, ...]) -> None:
    """It is what ``--help`` prints, as a message: a command is missing."""
    outcome = run(*arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == run(*arguments, "--help").out


def test_options_of_check_are_grouped(run: Run) -> None:
    out = run("check", "--help").out
    titles = [line.rstrip(":") for line in out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == list(OPTION_GROUPS)
    fixing = out.partition("\nFixing:\n")[2].partition("\nKnown findings:\n")[0]
    for option in ("--fix ", "--fix-only", "--unsafe-fixes", "--diff "):
        assert f"  {option}" in fixing


def options() -> list[tuple[str, click.Option]]:
    """The listed options of all commands, those for maintainers included, each with its name in the command line."""

    def walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Option]]:
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                yield f"{path} {parameter.opts[0]}", parameter
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                yield from walk(inner, f"{path} {name}")

    return list(walk(cli, "derivlint"))


def test_every_option_has_one_short_line_of_help() -> None:
    """An imperative without a subject; what needs more room is in the text of the command or in ``docs``."""
    helps = {option.help or "" for _, option in options()}
    assert {name for name, option in options() if not option.help} == set()
    first_words = {text.split()[0] for text in helps}
    assert first_words & {"What", "Which", "Whether", "How", "Where", "Who", "Say", "Tell", "Ask", "A", "The"} == set()
    lengths = sorted(len(text.split()) for text in helps)
    assert lengths[len(lengths) // 2] <= 9
    assert lengths[-1] <= 13


def test_help_of_check_fits_two_screens() -> None:
    check = grouped()["check"]
    text = check.get_help(click.Context(check, terminal_width=100, help_option_names=["-h", "--help"]))
    assert len(text.splitlines()) <= 58


def test_a_former_name_of_an_option_works_with_a_hint(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN.replace("grad", "grda"))
    outcome = run("emit", "cpp", "--out", "out")
    assert outcome.err.endswith(" fix them, or use --ignore RULE or --allow-errors\n")
    former, present = (run("emit", "cpp", "--out", name, name) for name in ("--force", "--allow-errors"))
    assert former.err == f'derivlint: "--force" is deprecated; use "--allow-errors"\n{present.err}'


def test_groups_name_only_parameters_that_there_are() -> None:
    commands = grouped()
    assert {"check", "coverage", "derive", "model", "new", "review", "show", "verify"} <= commands.keys()
    emit = cli.get_command(click.Context(cli), "emit")
    assert isinstance(emit, click.Group)
    every = [*commands.values(), *emit.commands.values()]
    there = {parameter.name for command in every for parameter in command.params}
    assert {name for names in OPTION_GROUPS.values() for name in names} - there == set()
    check = {parameter.name: group_of(parameter) for parameter in commands["check"].params}
    assert [name for name, group in check.items() if group == "Options"] == ["paths"]


@pytest.mark.parametrize(
    ("arguments", "incomplete", "expected"),
    [
        (["check", "--select"], "undefined-na", ["undefined-name", "undefined-namespace-member"]),
        (["check", "--ignore"], "x,undefined-name", ["x,undefined-name", "x,undefined-namespace-member"]),
        (["check", "--torch"], "inst", ["installed"]),
        (["check", "--torch"], "2.14", ["2.14"]),
        (["rule"], "unused-t", ["unused-tangent"]),
        (["show"], "sinh", ["sinh", "sinh_"]),
        (["emit", "cpp", "--ops"], "sin,cosh", ["sin,cosh", "sin,cosh_"]),
        (["coverage", "--ops"], "sinh_", ["sinh_"]),
        (["rev"], "", []),
    ],
)
def test_names_are_completed(arguments: list[str], incomplete: str, expected: list[str]) -> None:
    complete = ShellComplete(cli, {}, "derivlint", "_DERIVLINT_COMPLETE")
    if arguments == ["rev"]:
        arguments, incomplete, expected = [], "rev", ["review"]
    assert [item.value for item in complete.get_completions(arguments, incomplete)] == expected


@pytest.mark.parametrize(
    "arguments",
    [
        ("derive", "cosg(x)", "--wrt", "x"),
        ("show", "cosg"),
        ("emit", "cpp", "--ops", "cosg"),
        ("coverage", "--ops", "cosg"),
    ],
)
def test_a_misspelt_operator_is_reported_with_the_one_that_is_meant(run: Run, arguments: tuple[str, ...]) -> None:
    name, *rest = arguments
    position = 2 if name == "derive" else len(arguments)
    given = [*arguments[:position], str(EXAMPLE), *arguments[position:]]
    outcome = run(*given)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == 'derivlint: no operator "cosg"; did you mean "cos" or "cosh"?\n'
    assert rest


def test_names_in_the_configuration_that_are_those_of_no_operator_are_reported(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    (here / "derivlint.toml").write_text(
        "[per-operator-ignores]\n"
        'cosg = ["undefined-name"]\nadd = ["undefined-name"]\nsin = ["undefined-name"]\n"sin*" = ["undefined-name"]\n'
    )
    outcome = run("check", "--select", "")
    assert outcome.status == 0
    assert outcome.err.splitlines() == [
        'derivlint: "per-operator-ignores" names "cosg", which is not an operator; did you mean "cos" or "cosh"?',
        'derivlint: "per-operator-ignores" names "add", which is not an operator; did you mean "add.*"?',
    ]
