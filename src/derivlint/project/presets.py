"""Conventions that the derivatives files of a project follow."""

from __future__ import annotations

from msgspec import Struct

from derivlint.model import LAYOUTS, Layout


class Preset(Struct, frozen=True):
    """What holds for all derivatives files of a project.

    Attributes:
        layout: how they hold their entries.
        native_functions: the names of the files of native functions that may stand beside them, and that say which
            kernels the project has beside PyTorch's operators.
    """

    layout: Layout
    native_functions: tuple[str, ...] = ()


PRESETS = {
    # a copy of PyTorch's file for a generator of its own, whose kernels and helpers are not PyTorch's
    "candle": Preset(
        Layout(
            ignored=frozenset({"view_autograd"}),
            declares=True,
            composites=True,
            foreach=False,
            semicolons=True,
            cpp=False,
        )
    ),
    "torch_npu": Preset(LAYOUTS["torch_npu"], ("op_plugin_functions.yaml", "npu_native_functions.yaml")),
}
