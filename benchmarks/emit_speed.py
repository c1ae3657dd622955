"""Whole-process time and peak memory of ``derivlint emit cpp --mode in-tree`` against torchgen's generator.

Both make the same set of files of all operators of the installed torch, in turn, each in a fresh process: nodes,
kernels, view functions, ADInplaceOrView kernels and Python bindings of nodes. ``--force`` leaves out the check of the
file, which torchgen does not make; what it adds is distinguished.

    python benchmarks/emit_speed.py [--runs 5]

Needs the extra ``dev`` (torch, PyYAML).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from measuring import Files, Run, describe, installed_files, ratios, run_process

#: What torchgen's generator does for the files that derivlint emits; it has more, for tracing and for Python functions.
GENERATE = """
import sys
from pathlib import Path
from torchgen.packaged.autograd import (
    gen_autograd_functions, gen_inplace_or_view_type, gen_variable_type, gen_view_funcs, load_derivatives,
)
from torchgen.api import cpp
from torchgen.api.autograd import match_differentiability_info
from torchgen.gen import parse_native_yaml
derivatives, native, tags, out = sys.argv[1:]
templates = str(Path(gen_variable_type.__file__).parent / "templates")
infos, keys = load_derivatives.load_derivatives(derivatives, native, tags)
functions = sorted(parse_native_yaml(native, tags).native_functions, key=lambda f: cpp.name(f.func))
matched = match_differentiability_info(functions, infos)
gen_variable_type.gen_variable_type(out, native, tags, matched, templates, keys)
gen_inplace_or_view_type.gen_inplace_or_view_type(out, native, tags, matched, templates)
gen_autograd_functions.gen_autograd_functions_lib(out, infos, templates)
gen_view_funcs.gen_view_funcs(out, matched, templates)
gen_autograd_functions.gen_autograd_functions_python(out, infos, templates)
"""


def derivlint(files: Files, out: Path, *more: str) -> list[str]:
    return [
        *(sys.executable, "-m", "derivlint", "emit", "cpp", str(files.derivatives), "--mode", "in-tree"),
        *("--native-functions", str(files.native_functions), "--tags", str(files.tags), "--no-config"),
        *("--out", str(out), *more),
    ]


def torchgen(files: Files, out: Path) -> list[str]:
    paths = [str(files.derivatives), str(files.native_functions), str(files.tags), str(out)]
    return [sys.executable, "-c", GENERATE, *paths]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    files = installed_files()
    ours: list[Run] = []
    theirs: list[Run] = []
    checked: list[Run] = []
    for index in range(options.runs + 1):
        # every run writes into an empty folder, since files that are right already are not written again
        with tempfile.TemporaryDirectory() as folder:
            outs = [Path(folder, name) for name in ("ours", "theirs", "checked")]
            outs[1].mkdir()
            own = run_process(derivlint(files, outs[0], "--force"), (0,))
            other = run_process(torchgen(files, outs[1]), (0,))
            if index == 0:  # the first pair warms the file cache and the compiled modules
                names = sorted(path.name for path in outs[0].iterdir() if path.suffix != ".json")
                missing = set(names) - {path.name for path in outs[1].iterdir()}
                print(f"{len(names)} files" + (f"; torchgen does not make {sorted(missing)}" if missing else ""))
                continue
            ours.append(own)
            theirs.append(other)
            checked.append(run_process(derivlint(files, outs[2]), (0, 1)))
    print("minimum, median and maximum of", options.runs, "runs")
    print(describe("derivlint", ours))
    print(describe("torchgen", theirs))
    print(ratios(ours, theirs))
    added = [a.cpu / b.cpu for a, b in zip(checked, theirs, strict=True)]
    print(f"the check alone, as a ratio of cpu: {min(added):.2f} {statistics.median(added):.2f} {max(added):.2f}")


if __name__ == "__main__":
    main()
