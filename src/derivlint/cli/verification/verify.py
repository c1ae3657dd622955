"""``derivlint verify``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from derivlint.cli import completing
from derivlint.cli.shared.exits import INTERRUPTED
from derivlint.cli.shared.inputs import FallbackPolicy, resolve_inputs
from derivlint.cli.shared.loading import load_model
from derivlint.cli.shared.options import EXISTING, rule_names, source_options
from derivlint.cli.shared.output import CheckCommand, OutputOptions, output_options
from derivlint.cli.shared.terminal import Progress
from derivlint.lint.wording import did_you_mean
from derivlint.project.errors import InputError
from derivlint.project.operators import INSTALLED
from derivlint.project.settings import SettingsOfFiles

if TYPE_CHECKING:
    from derivlint.model import Model

DTYPES = ("float64", "complex128")
DEVICES = ("cpu", "cuda", "mps")


@click.command(cls=CheckCommand, short_help="Check formulas numerically, with an installed PyTorch.")
@source_options
@output_options
@click.option(
    "--ops",
    multiple=True,
    callback=rule_names,
    metavar="NAMES",
    shell_complete=completing.operators,
    help="Check the entries of these operators.",
)
@click.option("--changed", is_flag=True, help="Check the entries that changed since --diff-base. [default]")
@click.option(
    "--diff-base", metavar="REV", help="The git revision to compare with. [default: where HEAD left the main branch]"
)
@click.option("--against", type=EXISTING, help="A derivatives file to compare with, instead of a git revision.")
@click.option("--no-base", is_flag=True, help="Compare with nothing: show every finding, with what is known of it.")
@click.option("--all", "everything", is_flag=True, help="Check all entries.")
@click.option("--quick", is_flag=True, help="Fewer inputs.")
@click.option(
    "--order",
    type=click.IntRange(1, 3),
    default=2,
    show_default=True,
    help="The highest order of derivatives that is checked.",
)
@click.option("--thorough", is_flag=True, help="More inputs, and more random directions.")
@click.option(
    "--dtype", multiple=True, callback=rule_names, metavar="NAMES", help="float64, complex128. [default: both]"
)
@click.option(
    "--helpers", type=EXISTING, help="A FunctionsManual.cpp to compile with the formulas; its header stands beside it."
)
@click.option("--no-compile", is_flag=True, help="Translate formulas to Python; a few cannot be translated.")
@click.option("--compiler", metavar="NAME", help="The C++ compiler. [default: $CXX, else g++]")
@click.option(
    "--seed", type=click.IntRange(0, 2**30), default=0, show_default=True, help="What random numbers depend on."
)
@click.option(
    "--jobs", type=click.IntRange(1, 64), help="Processes at a time. [default: as many as there are processors]"
)
@click.option(
    "--scripts",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write a Python script for each finding, which shows it with PyTorch alone.",
)
@click.option(
    "--page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a page of Markdown, for a pull request; on GitHub the step's summary gets it in any case.",
)
@click.option(
    "--coverage",
    is_flag=True,
    help="Tell what of each formula no input reached: arms of conditions, sides of masks, states of arguments.",
)
@click.option(
    "--precision",
    is_flag=True,
    help="Measure how precise elementwise formulas are in float16, bfloat16 and float32, and check nothing else.",
)
@click.option(
    "--device",
    type=click.Choice(DEVICES),
    default=DEVICES[0],
    show_default=True,
    help="Where formulas run; what the machine does not have is not checked.",
)
@click.option("--no-resume", is_flag=True, help="Do not resume an interrupted run.")
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file of findings that are known and not reported; --update-baseline writes it.",
)
@click.option("--update-baseline", is_flag=True, help="Add all current findings to the baseline.")
@click.option(
    "--require-all", is_flag=True, help="Exit with 4 where anything that was asked for could not be checked, for gates."
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also when there are findings.")
def verify(
    paths: tuple[str, ...],
    output: OutputOptions,
    ops: tuple[str, ...],
    changed: bool,
    diff_base: str | None,
    against: Path | None,
    no_base: bool,
    everything: bool,
    quick: bool,
    thorough: bool,
    order: int,
    dtype: tuple[str, ...],
    helpers: Path | None,
    no_compile: bool,
    compiler: str | None,
    seed: int,
    jobs: int | None,
    scripts: Path | None,
    page: Path | None,
    coverage: bool,
    precision: bool,
    device: str,
    no_resume: bool,
    baseline: Path | None,
    update_baseline: bool,
    require_all: bool,
    exit_zero: bool,
    no_config: bool,
    stdin_filename: str | None,
    **setting_options: Any,
) -> None:
    """Check formulas numerically, with an installed PyTorch that is not rebuilt.

    The formulas are compiled as written in the file and run on inputs that PyTorch's own samples give its operators.
    Gradients and tangents are compared with finite differences of the operator, with each other, and with differences
    of themselves for second derivatives. The installed PyTorch has to be one that the file is for.

    An earlier version of the file runs on the same inputs: the file that --against names, else the git revision, else
    the file of the installed PyTorch. A finding that it does not have is new; the others are as before, whatever the
    text of the formula was. Without an earlier version every finding is shown, with what is known of it.

    The exit status is that of derivlint check for new findings, and 4 where none was found but something could not be
    checked: an entry that --ops names, one whose check ended with an error (crashed, killed, out of memory, out of
    time), with --require-all any entry or formula, and in any case where no formula was compared with anything.
    """
    from derivlint.cli.verification.verify_base import base_of, changed_operators, own_helpers
    from derivlint.cli.verification.verify_report import VerifyReporter
    from derivlint.project.filtering.baselines import BaselineFile
    from derivlint.verify.runner import ORDINARY, QUICK, THOROUGH, RunOptions, processors
    from derivlint.verify.runner import verify as run
    from derivlint.verify.unchecked import VerifyError

    _require_consistent(ops, changed, everything, quick, thorough, dtype)
    if sum((diff_base is not None, against is not None, no_base)) > 1:
        raise InputError("--diff-base, --against and --no-base exclude each other")
    if no_base and not ops and not everything:
        raise InputError("--no-base needs --ops or --all: without a base nothing has changed")
    if no_compile and (helpers is not None or compiler is not None):
        raise InputError("--no-compile excludes --helpers and --compiler")
    if no_compile and coverage:
        raise InputError("--coverage needs a compiler, which --no-compile excludes")
    _require_torch()
    if not paths and setting_options.get("torch") is None:
        # the file that a check would take, and not that of the installed torch, whose operators it is checked with
        lookup = SettingsOfFiles(no_config, **setting_options)
        paths = tuple(resolve_inputs(lookup, paths, stdin_filename, FallbackPolicy.OUTSIDE_OF_PROJECTS).files)
    setting_options["torch"] = setting_options.get("torch") or INSTALLED
    loaded = load_model(paths, stdin_filename, no_config, **setting_options)
    model = loaded.model
    try:
        base = None if no_base else base_of(loaded, diff_base, against, helpers, stands_in=bool(ops) or everything)
    except InputError as error:
        if ops or everything or changed or diff_base is not None or against is not None:
            raise
        raise InputError(f"{error}; name operators with --ops, or verify all entries with --all") from error
    operators = None if everything else _named(model, ops) if ops else changed_operators(model, base)
    if operators is not None and not operators:
        output.log("no entry changed, nothing is to be checked")
    if base is not None:
        output.log(f"findings are compared with those of {base.label}")
    reporting = VerifyReporter(
        model,
        loaded.settings,
        operators,
        bool(ops),
        scripts,
        page,
        coverage,
        BaselineFile.chosen(baseline or loaded.settings.baseline, updates=update_baseline, writes=update_baseline),
        update_baseline,
        exit_zero,
        require_all,
    )
    effort = replace(QUICK if quick else THOROUGH if thorough else ORDINARY, order=order)
    if precision:
        dtype = DTYPES[:1]
    dtypes = tuple(name for name in DTYPES if name in dtype) if dtype else DTYPES[:1] if quick else DTYPES
    own = own_helpers(helpers)
    options = RunOptions(
        effort,
        dtypes,
        seed,
        jobs or processors(),
        compiler,
        own,
        compiles=not no_compile,
        precision=precision,
        device=device,
        resume=not no_resume,
    )
    try:
        with Progress(is_quiet=output.quiet) as progress:
            outcome = run(model, operators, options, progress, base)
    except VerifyError as error:
        raise InputError(str(error)) from error
    if precision:
        from derivlint.cli.verification.verify_precision import report_precision

        click.get_current_context().exit(report_precision(outcome, output))
    status = reporting.report(outcome, output)
    click.get_current_context().exit(INTERRUPTED if outcome.is_broken_off else status)


def _require_consistent(
    ops: tuple[str, ...], changed: bool, everything: bool, quick: bool, thorough: bool, dtype: tuple[str, ...]
) -> None:
    for name in dtype:
        if name not in DTYPES:
            raise InputError(f'no "{name}" to check with; there are {", ".join(DTYPES)}')
    if sum((bool(ops), changed, everything)) > 1:
        raise InputError("--ops, --changed and --all exclude each other")
    if quick and thorough:
        raise InputError("--quick and --thorough exclude each other")


def _require_torch() -> None:
    from derivlint.compiler.gxx import torch_includes

    if torch_includes() is None:
        raise InputError("torch is not installed here; the extra derivlint[verify] has it")


def _named(model: Model, ops: tuple[str, ...]) -> set[str]:
    """The operators of some names, with and without overload.

    Raises:
        InputError: an operator has no entry.
    """
    from derivlint.schema import SchemaKind
    from derivlint.verify.code.functions import FOREACH

    operators = {entry.operator for entry in model.entries if entry.operator is not None}
    selected: set[str] = set()
    for name in ops:
        lists = model.natives.with_base(name.partition(".")[0]) if name.startswith(FOREACH) else ()
        functions = {str(function.name) for function in lists if function.schema.kind is SchemaKind.functional}
        meant = {
            operator for operator in operators | functions if operator == name or operator.partition(".")[0] == name
        }
        if not meant:
            question = did_you_mean(name, sorted(operators))
            raise InputError(f'no entry of an operator "{name}"' + (f"; {question}" if question else ""))
        selected |= meant
    return selected
