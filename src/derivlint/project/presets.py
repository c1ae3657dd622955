"""Conventions that the derivatives files of a project follow."""

from __future__ import annotations

from msgspec import Struct

from derivlint.model import LAYOUTS, Layout


class Preset(Struct, frozen=True):
    """The conventions of all derivatives files of a project.

    Attributes:
        layout: how they hold their entries.
        native_functions: the names of the files of native functions next to them, which declare the project's own
            operators and kernels.
        namespace: the namespace of own operators, if their schemas do not name it, else None.
    """

    layout: Layout
    native_functions: tuple[str, ...] = ()
    namespace: str | None = None


PRESETS = {
    "candle": Preset(LAYOUTS["candle"]),
    "torch_npu": Preset(LAYOUTS["torch_npu"], ("op_plugin_functions.yaml", "npu_native_functions.yaml"), "npu"),
}


def namespace_of(name: str) -> str | None:
    """The namespace of the own operators in a file of native functions, by the name of the file."""
    return next((preset.namespace for preset in PRESETS.values() if name in preset.native_functions), None)
