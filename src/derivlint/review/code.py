"""The diff of the C++ generated for changed entries."""

from __future__ import annotations

from collections.abc import Collection
from difflib import unified_diff

from derivlint.emit.kernels import kernels
from derivlint.emit.nodes import node_classes
from derivlint.emit.places import without_marks
from derivlint.emit.selection import unreadable_formulas
from derivlint.emit.template import yaml_name
from derivlint.model import Model

#: The name of a missing file in diffs.
NOTHING = "/dev/null"


def code_diff(before: Model, after: Model, operators: Collection[str]) -> tuple[str, ...]:
    """The lines of a unified diff of the nodes and kernels of some operators.

    Args:
        before: the older version.
        after: the newer one.
        operators: the full names of functions.

    Raises:
        UnsupportedRelease: the operators are those of a release that code cannot be emitted for.
    """
    if not operators:
        return ()
    old, new = (_pieces(model, frozenset(operators)) for model in (before, after))
    lines: list[str] = []
    for name in dict.fromkeys([*new, *old]):
        was, now = (side.get(name, "").splitlines() for side in (old, new))
        if was != now:
            titles = (name if was else NOTHING, name if now else NOTHING)
            lines += unified_diff(was, now, *titles, lineterm="")
    return tuple(lines)


def _pieces(model: Model, operators: frozenset[str]) -> dict[str, str]:
    """The classes and kernels of the operators, by what they are; what cannot be read has none."""
    without = unreadable_formulas(model)
    listed = [
        kernel
        for kernel in kernels(model, operators, only_with_entry=True)
        if str(kernel.function.name) in operators - without.keys()
    ]
    nodes = {kernel.node for kernel in listed if kernel.node is not None}
    # comments name the file, whose two versions may have two names
    origin = f"// {yaml_name(model.source.path)}: "
    pieces = {
        f"node {node.name}": without_marks(f"{node.header}\n{node.source}").replace(origin, "// ")
        for node in node_classes(model, nodes)
    }
    for kernel in listed:
        text = f"{without_marks(kernel.text).replace(origin, '// ')}\n// {kernel.dispatch_key}: {kernel.registration}"
        pieces[f"kernel {kernel.function.name} [{kernel.dispatch_key}]"] = text
    return pieces
