"""Processor time from the edit of one formula to the printed gradient: ``derivlint run`` against ``load_inline``.

The formula is another one in every run, so that it is compiled each time. ``torch.utils.cpp_extension.load_inline``
compiles the very same node and kernels, with and without its precompiled header; all run in turn.

    python benchmarks/run_speed.py [--runs 5] [--ops tanh mul.Tensor] [--compiler g++]

Needs the extra ``dev`` (torch) and ninja, which ``load_inline`` runs.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from measuring import Run, describe, installed_files, ratios, run_process

#: For each operator the entry whose formula is edited, and an expression with a gradient.
CASES = {
    "tanh": ("tanh", "x.tanh()"),
    "mul.Tensor": ("mul.Tensor", "x * x"),
    "native_layer_norm": ("native_layer_norm", "torch.nn.functional.layer_norm(x, (3,))"),
    "_foreach_add": ("add.Tensor", "torch._foreach_add([x], [x])[0]"),
}
GRADIENT = "import torch; x = torch.rand(2, 3, requires_grad=True); ({}).sum().backward(); print(x.grad)"
INLINE = """
import sys
from torch.utils.cpp_extension import load_inline
folder, name, use_pch, program = sys.argv[1:]
text = "".join(f'#include "{source}"\\n' for source in ("python_nodes_0.cpp", "nodes_0.cpp", "kernels_0.cpp"))
options = {"extra_cflags": ["-O0", "-std=c++20"], "extra_include_paths": [folder], "use_pch": use_pch == "1"}
try:
    load_inline(name, text, extra_ldflags=["-Wl,--unresolved-symbols=ignore-all"], is_python_module=False, **options)
except OSError:
    pass  # PyTorch does not export all helpers; it was compiled and linked
exec(program)
"""


def edited(text: str, entry: str, number: int) -> str:
    """The file with another formula."""
    start = text.index("\n", text.index(f"\n- name: {entry}(") + 1)
    place = text.index("grad", start)
    return f"{text[:place]}(grad * {number + 2}){text[place + 4 :]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--ops", nargs="*", default=list(CASES))
    parser.add_argument("--compiler", help="for derivlint run; load_inline takes $CXX, else g++")
    options = parser.parse_args()
    compiler = ["--compiler", options.compiler] if options.compiler else []
    stock = installed_files().derivatives.read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["DERIVLINT_CACHE_DIR"] = str(folder / "cache")
        os.environ["TORCH_EXTENSIONS_DIR"] = str(folder / "inline")
        file = folder / "derivatives.yaml"

        def ours(*words: str) -> Run:
            return run_process([sys.executable, "-m", "derivlint", *words], (0,))

        first = True
        for operator in options.ops:
            entry, expression = CASES[operator]
            program = GRADIENT.format(expression)
            command = ("run", str(file), "--quiet", *compiler, "--", "-c", program)
            runs: dict[str, list[Run]] = {}
            for number in range(options.runs + 1):
                file.write_text(edited(stock, entry, number))
                made = {"edited": ours(*command), "unchanged": ours(*command)}
                emitted = folder / f"{operator}-{number}"
                emit = ("emit", "cpp", str(file), "--torch", "installed", "--ops", operator, "--allow-errors")
                ours(*emit, "--out", str(emitted))
                for label, use_pch in (("inline", "0"), ("inline, PCH", "1")):
                    words = [str(emitted), f"node_{list(CASES).index(operator)}_{number}_{use_pch}", use_pch, program]
                    made[label] = run_process([sys.executable, "-c", INLINE, *words], (0,))
                if number == 0:
                    # it makes the precompiled headers of both
                    if first:
                        print(describe("cold", [made["edited"]]))
                    first = False
                    continue
                for label, run in made.items():
                    runs.setdefault(label, []).append(run)
            print(f"\n{operator}: minimum, median and maximum of {options.runs} runs")
            for label, measured in runs.items():
                print(describe(label, measured))
            for label in ("inline", "inline, PCH"):
                print(f"edited against {label}")
                print(ratios(runs["edited"], runs[label]))


if __name__ == "__main__":
    main()
