"""Runs the commands of the README from the wheel, in an environment that has nothing else: no PyTorch, no checkout.

    python .ci/bare.py

A command that needs PyTorch has to say so, with exit status 2. The others exit with 0, or with 1 where they find
something.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The folder that each quick start is run in.
FOLDERS = {
    "You work on PyTorch": None,  # one made like a checkout
    "You keep an out-of-tree back end": ROOT / "examples" / "backend",
    "You write custom operators": ROOT / "examples" / "custom_ops",
}
#: What a message says that names the lack of PyTorch.
LACK = re.compile(r"PyTorch|torch")


def commands() -> list[tuple[str, list[str]]]:
    """The commands of each quick start that are derivlint's own, by its title."""
    part = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Quick starts\n")[2].partition("\n## ")[0]
    found = []
    for section in part.split("\n### ")[1:]:
        title = section.partition("\n")[0]
        for block in re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE):
            lines = (shlex.split(line, comments=True) for line in block.splitlines())
            found += [(title, line) for line in lines if line[0] == "derivlint"]
    return found


def checkout(folder: Path) -> None:
    """A repository with a derivatives file where PyTorch has its own, and a branch ``main``."""
    (folder / "tools/autograd").mkdir(parents=True)
    shutil.copy(ROOT / "src/derivlint/examples/derivatives.yaml", folder / "tools/autograd/derivatives.yaml")
    author = ("-c", "user.name=a", "-c", "user.email=a@b")
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), (*author, "commit", "-qm", "main")):
        subprocess.run(["git", *arguments], cwd=folder, check=True)


def main() -> None:
    """Build the wheel, install it, and run.

    Raises:
        SystemExit: a command fails for another reason than the lack of PyTorch.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        subprocess.run([sys.executable, str(ROOT / ".ci" / "wheel.py"), str(folder / "wheel")], check=True)
        venv.create(folder / "venv", with_pip=True)
        (wheel,) = (folder / "wheel").glob("*.whl")
        pip = [str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, str(wheel)], check=True)
        environment = {"PATH": f"{folder / 'venv/bin'}{os.pathsep}{os.environ['PATH']}", "HOME": temporary}
        failing = []
        for number, (title, command) in enumerate(commands()):
            work = folder / str(number)
            source = FOLDERS[title]
            if source is None:
                checkout(work)
            else:
                shutil.copytree(source, work)
            process = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
            lacks = process.returncode == 2 and LACK.search(process.stderr) is not None
            print(f"{process.returncode} {shlex.join(command)}{' (needs PyTorch)' if lacks else ''}")
            if (process.returncode not in (0, 1) and not lacks) or "Traceback" in process.stderr:
                failing.append(f"{shlex.join(command)}\n{process.stderr}")
    if failing:
        raise SystemExit("\n".join(failing))


if __name__ == "__main__":
    main()
