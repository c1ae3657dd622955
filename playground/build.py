"""Puts the editor, Pyodide, and the packages of derivlint and its dependencies into a built site, for the playground.

    npm --prefix playground ci
    python -m build --outdir DIST
    python playground/build.py SITE DIST

Wheels come from the package index, for the platform of this Pyodide; that of derivlint from the folder DIST.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
#: The examples by title: the entries, and the operators that they declare beside PyTorch's.
TEXTS = {
    "Mistakes, each explained": {"text": "derivatives.yaml", "natives": ""},
    "A new operator, first attempt": {
        "text": "tutorial/1-first-attempt.yaml",
        "natives": "tutorial/native_functions.yaml",
    },
    "The same, correct": {"text": "tutorial/4-twice.yaml", "natives": "tutorial/native_functions.yaml"},
    "Custom operators": {"text": "custom_ops/derivatives.yaml", "natives": "custom_ops/my_ops.yaml"},
}
#: The files of Pyodide that a page loads, beside Python's library, which pack.mjs compiles.
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json")
#: The dependencies of derivlint. There is no WebAssembly build of ruamel.yaml.clib; the parser in Python does the same.
#: Nor is what rich needs for Markdown and for highlighting, which derivlint does not use.
PURE = ("click", "lark", "rich", "ruamel.yaml")
COMPILED = ("msgspec",)


def platform() -> list[str]:
    """The options of pip for the Python that Pyodide has."""
    info = json.loads((HERE / "node_modules/pyodide/pyodide-lock.json").read_text(encoding="utf-8"))["info"]
    python = ".".join(info["python"].split(".")[:2])
    tag = f"pyemscripten_{info['abi_version']}_wasm32"
    return [
        "--platform",
        tag,
        "--python-version",
        python,
        "--implementation",
        "cp",
        "--abi",
        f"cp{python.replace('.', '')}",
    ]


def pip(*arguments: str) -> None:
    """Run pip."""
    subprocess.run([sys.executable, "-m", "pip", *arguments, "--quiet", "--no-deps"], check=True)


def build(site: Path, distributions: Path) -> None:
    """Copy and download everything into the folder of the playground."""
    folder = site / "playground"
    (folder / "pyodide").mkdir(parents=True, exist_ok=True)
    for name in PYODIDE:
        shutil.copy(HERE / "node_modules" / "pyodide" / name, folder / "pyodide" / name)
    shutil.copy(HERE / "src" / "worker.js", folder)
    shutil.copy(HERE / "src" / "bench.py", folder)
    bundle = ["npx", "esbuild", "src/main.js", "--bundle", "--minify", "--format=esm", "--log-level=warning"]
    subprocess.run([*bundle, f"--outfile={(folder / 'playground.js').resolve()}"], cwd=HERE, check=True)
    examples = [
        {"title": title, **{name: (EXAMPLES / file).read_text("utf-8") if file else "" for name, file in texts.items()}}
        for title, texts in TEXTS.items()
    ]
    (folder / "examples.json").write_text(json.dumps(examples), encoding="utf-8")
    with tempfile.TemporaryDirectory() as wheels:
        (wheel,) = distributions.glob("*.whl")
        shutil.copy(wheel, wheels)
        pip("download", *PURE, "--only-binary=:all:", "--platform", "any", "--dest", wheels)
        pip("download", *COMPILED, "--only-binary=:all:", *platform(), "--dest", wheels)
        archives = (folder / "packages.zip", folder / "pyodide" / "python_stdlib.zip")
        subprocess.run(["node", HERE / "pack.mjs", wheels, *archives], check=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]), Path(sys.argv[2]))
