#!/usr/bin/env python3
"""Generates torch/csrc/autograd/generated in a checkout of PyTorch: derivlint's files, and torchgen's for the others.

Takes the place of ``python -m tools.setup_helpers.generate_code``, with the same arguments, in the checkout's root.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

GENERATED = Path("torch/csrc/autograd/generated")
DERIVATIVES = Path("tools/autograd/derivatives.yaml")


def main() -> None:
    """Generate the files of both."""
    subprocess.run([sys.executable, "-m", "tools.setup_helpers.generate_code", *sys.argv[1:]], check=True)
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "derivlint", "emit", "cpp", DERIVATIVES, "--mode", "in-tree", "--out", folder]
        subprocess.run(command, check=True)
        for path in Path(folder).glob("*"):
            if path.suffix in (".h", ".cpp"):
                shutil.copyfile(path, GENERATED / path.name)
    print(f"derivlint: wrote its files to {GENERATED}")


if __name__ == "__main__":
    main()
