"""Builds the wheel of the checkout into a folder: python .ci/wheel.py FOLDER.

From a copy of the sources: setuptools leaves a folder ``build`` next to them, whose files would get into later wheels.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("src", "grammar", "rules", "pyproject.toml", "README.md", "LICENSE")


def main(folder: str) -> None:
    """Copy and build."""
    with tempfile.TemporaryDirectory() as temporary:
        for part in PARTS:
            source, target = ROOT / part, Path(temporary) / part
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
            else:
                shutil.copy(source, target)
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--wheel-dir", folder, temporary], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
