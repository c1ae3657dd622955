"""Whole-process time and peak memory of ``derivlint check`` against torchgen's ``load_derivatives``.

Both run on the files of the installed torch, in turn, each in a fresh process; what counts are the ratios of one run of
this program, since machines differ and drift. A cold run has no cache, in one process, and should take 0.75 of
torchgen's time at most; one after a change of one formula 0.15, and one of an unchanged file, which is in the cache,
0.05. Wall time is what people wait for. What type-checking the formulas adds is distinguished. Then ``derivlint check``
runs on files that hold every operator and entry 4 and 16 times under other names: the time for each entry should stay
the same.

    python benchmarks/check_speed.py [--runs 7] [--factors 1,4,16]

Needs the extra ``dev`` (torch, PyYAML).
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
from dataclasses import replace
from importlib import import_module
from inspect import getsource
from pathlib import Path
from types import ModuleType

from measuring import Files, Run, describe, installed_files, multiplied, ratios, run_process

from derivlint.rules import NAMES

LOAD_DERIVATIVES = """
import sys
from torchgen.packaged.autograd.load_derivatives import load_derivatives
load_derivatives(*sys.argv[1:])
"""


def derivlint(files: Files, *more: str, cold: bool = True) -> list[str]:
    return [
        *(sys.executable, "-m", "derivlint", "check", str(files.derivatives)),
        *("--native-functions", str(files.native_functions), "--tags", str(files.tags), "--no-config"),
        *(["--no-cache"] if cold else []),
        *more,
    ]


def rules_about_types() -> str:
    """The rules without which formulas are not type-checked."""
    names = [name for name in NAMES if "derivlint.lint.shared.type_wording" in getsource(rule_module(name))]
    return ",".join(names)


def rule_module(name: str) -> ModuleType:
    return import_module(f"derivlint.rules.{name.replace('-', '_')}")


def torchgen(files: Files) -> list[str]:
    paths = [str(files.derivatives), str(files.native_functions), str(files.tags)]
    return [sys.executable, "-c", LOAD_DERIVATIVES, *paths]


def with_parentheses(text: str, chosen: random.Random) -> str:
    """The text with one more formula changed to an equal one."""
    beginning = "\n  self: grad"
    places = text.split(beginning)
    at = chosen.randrange(1, len(places))
    return f"{beginning.join(places[:at])}\n  self: (grad){beginning.join(places[at:])}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--factors", default="1,4,16")
    options = parser.parse_args()
    files = installed_files()
    kinds = ("cold", "changed", "unchanged", "torchgen", "untyped")
    runs: dict[str, list[Run]] = {name: [] for name in kinds}
    without = derivlint(files, "--ignore", rules_about_types())
    cache = tempfile.TemporaryDirectory()
    os.environ["DERIVLINT_CACHE_DIR"] = cache.name
    text, chosen = files.derivatives.read_text(encoding="utf-8"), random.Random(0)
    edited = replace(files, derivatives=Path(cache.name) / "derivatives.yaml")
    for index in range(options.runs + 1):
        found = {
            "cold": run_process(derivlint(files), (0, 1)),
            "torchgen": run_process(torchgen(files), (0,)),
        }
        text = with_parentheses(text, chosen)
        edited.derivatives.write_text(text, encoding="utf-8")
        for kind in ("changed", "unchanged"):
            found[kind] = run_process(derivlint(edited, cold=False), (0, 1))
        if index:  # the first runs warm the file cache and the compiled modules, and fill the cache
            found["untyped"] = run_process(without, (0, 1))
            for kind, run in found.items():
                runs[kind].append(run)
    print("minimum, median and maximum of", options.runs, "runs")
    for kind in ("cold", "changed", "unchanged", "torchgen"):
        print(describe(kind, runs[kind]))
    for kind in ("cold", "changed", "unchanged"):
        print(kind, ratios(runs[kind], runs["torchgen"]), sep="\n")
    cache.cleanup()
    three = zip(runs["cold"], runs["torchgen"], runs["untyped"], strict=True)
    added = [(ours.cpu - untyped.cpu) / theirs.cpu for ours, theirs, untyped in three]
    print(f"types add, as a ratio of cpu: {min(added):.2f} {statistics.median(added):.2f} {max(added):.2f}")
    with tempfile.TemporaryDirectory() as folder:
        for factor in map(int, options.factors.split(",")):
            many = multiplied(files, factor, Path(folder))
            each = [run_process(derivlint(many), (0, 1)) for _ in range(3)]
            cpu = statistics.median(run.cpu for run in each)
            print(
                f"{factor:3}x the entries: cpu {cpu:.2f} s, {1000 * cpu / factor:.0f} ms for each 1x, "
                f"memory {statistics.median(run.memory for run in each):.0f} MiB"
            )


if __name__ == "__main__":
    main()
