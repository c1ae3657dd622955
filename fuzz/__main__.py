"""The command ``python -m fuzz``."""

from __future__ import annotations

import gc
import sys
import tempfile
from pathlib import Path
from random import Random
from time import monotonic

import click

from fuzz.batch import Plan
from fuzz.campaign import Campaign
from fuzz.finds import observed
from fuzz.record import Record
from fuzz.registry import TARGETS, targets_named
from fuzz.replaying import replay
from fuzz.target import Target
from fuzz.targets.workplace import workplace


@click.group()
def main() -> None:
    """Fuzz derivlint: make inputs of every kind at random, run them, and say what must not have happened."""


def _names(context: click.Context, option: click.Parameter, value: str) -> list[str]:
    names = [name for name in value.replace(",", " ").split() if name]
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        raise click.BadParameter(f'no target "{unknown[0]}"; there are {", ".join(TARGETS)}')
    return names or list(TARGETS)


def _warm_up(targets: list[Target]) -> None:
    """Read once what every process needs, which get it by being forked."""
    for target in targets:
        # the server begins threads, which a fork does not take along
        if not target.is_costly and target.name != "server":
            observed(target, target.generate(Random("warm")))
    gc.collect()
    gc.freeze()


def _run(seed: int, inputs: int, jobs: int, minutes: float | None, names: list[str], out: Path) -> None:
    out = out.absolute()
    record = Record(out, seed, names)
    plan = Plan(seed, targets_named(names))
    # processes that are killed leave their folders in it
    with tempfile.TemporaryDirectory(prefix="derivlint-fuzz-", ignore_cleanup_errors=True) as folder:
        tempfile.tempdir = folder
        _warm_up(list(plan.targets))
        begin = monotonic()
        complete = Campaign(plan, record, inputs, jobs, minutes).run()
    print("\n".join(record.summary(monotonic() - begin)))
    if not complete:
        print(f"interrupted; the same command with --out {out} goes on")
    sys.exit(1 if record.finds else 0 if complete else 130)


@main.command()
@click.option("--inputs", default=1_000_000, show_default=True, help="How many inputs.")
@click.option("--seed", default=1, show_default=True, help="What they are made from.")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes at a time.")
@click.option("--minutes", type=float, help="Begin nothing after that time.")
@click.option("--targets", "names", default="", callback=_names, help="Only these, with their relative weights.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("fuzz-out"),
    show_default=True,
    help="For finds and the state.",
)
def campaign(inputs: int, seed: int, jobs: int, minutes: float | None, names: list[str], out: Path) -> None:
    """Run many inputs; exits with 1 where something was found."""
    _run(seed, inputs, jobs, minutes, names, out)


def _replay(names: list[str]) -> bool:
    found = replay(names)
    for name, find in found:
        print(f"{name}: {find.key}\n{find.detail}\n")
    workplace().remove()
    return not found


@main.command("replay")
@click.option("--targets", "names", default="", callback=_names, help="Only these.")
def replay_corpus(names: list[str]) -> None:
    """Run the corpus of past finds; exits with 1 where one is back."""
    sys.exit(0 if _replay(names) else 1)


@main.command()
@click.option("--inputs", default=100_000, show_default=True, help="How many inputs.")
@click.option("--seed", default=0, show_default=True, help="What they are made from.")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes at a time.")
@click.option("--out", type=click.Path(path_type=Path), help="For finds; by default a new temporary folder.")
def smoke(inputs: int, seed: int, jobs: int, out: Path | None) -> None:
    """Replay the corpus, then run the same inputs as every time: what is new is for campaigns to find."""
    if not _replay(list(TARGETS)):
        sys.exit(1)
    folder = out or Path(tempfile.mkdtemp(prefix="derivlint-fuzz-out-"))
    _run(seed, inputs, jobs, None, list(TARGETS), folder)


@main.command()
@click.argument("target", type=click.Choice(list(TARGETS)))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def run(target: str, file: Path) -> None:
    """Run one input, such as one of a campaign."""
    find = observed(TARGETS[target], file.read_bytes(), twice=True)
    print("nothing was found" if find is None else f"{find.key}\n{find.detail}")
    sys.exit(0 if find is None else 1)


@main.command("input")
@click.argument("seed", type=int)
@click.argument("index", type=int)
@click.option("--targets", "names", default="", callback=_names, help="As they were given to the campaign.")
def show_input(seed: int, index: int, names: list[str]) -> None:
    """Print the input that a campaign has at a number."""
    target, data = Plan(seed, targets_named(names)).input(index)
    print(target.name, file=sys.stderr)
    sys.stdout.buffer.write(data)


if __name__ == "__main__":
    main()
