"""``derivlint verify``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from derivlint.cli.shared.inputs import FallbackPolicy, resolve_inputs
from derivlint.cli.shared.loading import load_model
from derivlint.cli.shared.options import EXISTING, ops_option, rule_names, source_options
from derivlint.cli.shared.output import CheckCommand, OutputOptions, output_options
from derivlint.cli.shared.terminal import INTERRUPTED, Progress
from derivlint.lint.wording import unknown_name
from derivlint.project.errors import InputError, user_errors
from derivlint.project.operators import INSTALLED
from derivlint.project.settings import SettingsOfFiles

if TYPE_CHECKING:
    from derivlint.model import Model

DTYPES = ("float64", "complex128")
DEVICES = ("cpu", "cuda", "mps")


@click.command(cls=CheckCommand, short_help="Check formulas numerically with the installed PyTorch.")
@source_options
@output_options
@ops_option("Check the entries of these operators.")
@click.option("--changed", is_flag=True, help="Check the entries that changed since --diff-base. [default]")
@click.option("--diff-base", metavar="REV", help="Compare with this git revision. [default: the merge base]")
@click.option("--against", type=EXISTING, help="Compare with this derivatives file instead of a revision.")
@click.option("--no-base", is_flag=True, help="Compare with nothing and report every finding.")
@click.option("--all", "everything", is_flag=True, help="Check all entries.")
@click.option("--quick", is_flag=True, help="Use fewer inputs.")
@click.option(
    "--order",
    type=click.IntRange(1, 3),
    default=2,
    show_default=True,
    help="Check derivatives up to this order.",
)
@click.option("--thorough", is_flag=True, help="Use more inputs and more random directions.")
@click.option(
    "--dtype",
    multiple=True,
    callback=rule_names,
    metavar="NAMES",
    help="Check only float64 or complex128. [default: both]",
)
@click.option("--helpers", type=EXISTING, help="Compile this FunctionsManual.cpp with the formulas.")
@click.option("--no-compile", is_flag=True, help="Translate formulas to Python instead of compiling them.")
@click.option("--compiler", metavar="NAME", help="Use this C++ compiler. [default: $CXX, else clang++, else g++]")
@click.option("--seed", type=click.IntRange(0, 2**30), default=0, show_default=True, help="Seed the random numbers.")
@click.option("--jobs", type=click.IntRange(1, 64), help="Run this many processes. [default: one per processor]")
@click.option(
    "--scripts",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write a Python script that reproduces each finding.",
)
@click.option(
    "--page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a Markdown page for a pull request.",
)
@click.option(
    "--coverage",
    is_flag=True,
    help="Report the conditions, masks and arguments that no input reached.",
)
@click.option(
    "--precision",
    is_flag=True,
    help="Measure only precision in float16, bfloat16 and float32.",
)
@click.option(
    "--device",
    type=click.Choice(DEVICES),
    default=DEVICES[0],
    show_default=True,
    help="Run formulas on this device.",
)
@click.option("--no-resume", is_flag=True, help="Do not resume an interrupted run.")
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Do not report the findings that this file lists.",
)
@click.option("--update-baseline", is_flag=True, help="Add all current findings to the baseline.")
@click.option("--require-all", is_flag=True, help="Exit with 4 if anything requested could not be checked.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 despite findings.")
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
    """Check formulas numerically with the installed PyTorch, without rebuilding it.

    Formulas are compiled as written and run on PyTorch's own samples. Gradients and tangents are compared with finite
    differences of the operator and with each other; second derivatives with finite differences of the gradients. The
    installed PyTorch must be a release that the file fits.

    The base (--against, else the git revision, else the file of the installed PyTorch) runs on the same inputs; only
    findings that the base does not have fail. The step summary of GitHub Actions gets the --page in any case.

    Exit status: as derivlint check, for new findings; 4 if something requested could not be checked, a check crashed or
    ran out of memory or time, or nothing was compared.
    """
    from derivlint.cli.verification.verify_base import base_of, changed_operators, own_helpers
    from derivlint.cli.verification.verify_report import VerifyReporter
    from derivlint.compiler.children import processors
    from derivlint.project.filtering.baselines import BaselineFile
    from derivlint.verify.runner import ORDINARY, QUICK, THOROUGH, RunOptions
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
    require_torch()
    if not paths and setting_options.get("torch") is None:
        # the default file of a check, not that of the installed torch, whose operators it is checked with
        lookup = SettingsOfFiles(no_config, **setting_options)
        paths = tuple(resolve_inputs(lookup, paths, stdin_filename, FallbackPolicy.OUTSIDE_OF_PROJECTS).files)
    setting_options["torch"] = setting_options.get("torch") or INSTALLED
    loaded = load_model(paths, stdin_filename, no_config, **setting_options)
    model = loaded.model
    try:
        base = None if no_base else base_of(loaded, diff_base, against, helpers, has_fallback=bool(ops) or everything)
    except InputError as error:
        if ops or everything or changed or diff_base is not None or against is not None:
            raise
        raise InputError(f"{error}; name operators with --ops, or verify all entries with --all") from error
    operators = None if everything else _named(model, ops) if ops else changed_operators(model, base)
    if operators is not None and not operators:
        output.log("no entry changed; nothing to check")
    if base is not None:
        output.log(f"comparing findings with {base.label}")
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
        base,
        options,
    )
    with user_errors(VerifyError), Progress(is_quiet=output.quiet) as progress:
        outcome = run(model, operators, options, progress, base)
    if precision:
        from derivlint.cli.verification.verify_page import report_precision

        click.get_current_context().exit(report_precision(outcome, output))
    status = reporting.report(outcome, output)
    click.get_current_context().exit(INTERRUPTED if outcome.is_broken_off else status)


def _require_consistent(
    ops: tuple[str, ...], changed: bool, everything: bool, quick: bool, thorough: bool, dtype: tuple[str, ...]
) -> None:
    for name in dtype:
        if name not in DTYPES:
            raise InputError(f'"{name}" is not a --dtype; choose {" or ".join(DTYPES)}')
    if sum((bool(ops), changed, everything)) > 1:
        raise InputError("--ops, --changed and --all exclude each other")
    if quick and thorough:
        raise InputError("--quick and --thorough exclude each other")


def require_torch() -> None:
    """Reject a run without PyTorch.

    Raises:
        InputError: PyTorch is not installed.
    """
    from derivlint.compiler.gxx import torch_includes

    if torch_includes() is None:
        raise InputError('torch is not installed; run: pip install "derivlint[verify]"')


def _named(model: Model, ops: tuple[str, ...]) -> set[str]:
    """Return the operators of names, with or without overload.

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
            raise InputError(unknown_name(f'no entry of an operator "{name}"', name, sorted(operators)))
        selected |= meant
    return selected
