"""Builds the module my_ops: our kernels, and what derivlint writes of derivatives.yaml."""

from __future__ import annotations

import subprocess
import sys

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

from derivlint.runtime import objects

GENERATED = "build/generated"
subprocess.run(
    [
        *(sys.executable, "-m", "derivlint", "emit", "cpp", "derivatives.yaml"),
        *("--torch", "installed", "--native-functions", "my_ops.yaml"),
        *("--headers", "csrc/formulas.h", "--out", GENERATED),
    ],
    check=True,
)

setup(
    name="my_ops",
    version="1.0",
    ext_modules=[
        CppExtension(
            "my_ops",
            ["csrc/formulas.cpp", "csrc/my_ops.cpp", "csrc/module.cpp"],
            extra_objects=objects(GENERATED),
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
