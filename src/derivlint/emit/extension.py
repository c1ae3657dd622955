"""The files of an extension: a library that overrides kernels of an installed PyTorch."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import PurePath
from typing import TypeVar
from zlib import crc32

from derivlint.emit import python_bindings as python
from derivlint.emit.inplace_or_view import InplaceOrViewKernel, inplace_or_view_source
from derivlint.emit.kernels import Kernel, kernels_source
from derivlint.emit.nodes import NodeClass, nodes_header, nodes_source
from derivlint.emit.own_operators import HEADER as OPERATORS
from derivlint.emit.own_operators import operators_header
from derivlint.emit.release import Release, known_number, release_of
from derivlint.emit.template import fill, load, quoted
from derivlint.emit.view_funcs import view_func, view_funcs_header, view_funcs_source
from derivlint.schema import NativeFunction, OperatorName

_Item = TypeVar("_Item")

#: The default number of kernels in a shard, on average.
KERNELS_PER_SHARD = 90
HEADER = "nodes.h"
VIEWS = "views.h"
TRACKING = "inplace_or_view"
#: The characters of paths that CMake needs quotes for.
_NOT_BARE = re.compile(r"[^\w./+-]")


def extension_files(
    classes: Sequence[NodeClass],
    kernels: Sequence[Kernel],
    namespace: str,
    shards: int | None,
    bindings_of: str | None,
    version: str | None,
    own: Sequence[NativeFunction],
    views: Sequence[InplaceOrViewKernel],
    shipped: Collection[str],
    headers: Sequence[str],
) -> dict[str, str]:
    """Emit nodes, kernels and, on request, the Python bindings of the nodes.

    All code from one entry is in the files of one shard, which are compiled together.

    Args:
        classes: the node classes.
        kernels: the kernels.
        namespace: the namespace of the node classes.
        shards: the maximum number of shards.
        bindings_of: the name of the YAML file, for bindings of Python; None without them.
        version: the only version of PyTorch with which they compile; None for any.
        own: custom operators that formulas may call.
        views: kernels that track views and writes.
        shipped: the node classes of PyTorch's own library that kernels use.
        headers: the author's headers, by their paths from the folder of the files.
    """
    guard = _guarded("release_guard.h", version)
    files: dict[str, str] = {}
    included = [*headers, *([OPERATORS] if own else [])]
    guard = "\n".join(filter(None, [guard, *(f'#include "{name}"' for name in included)]))
    if own:
        files[OPERATORS] = operators_header(own, namespace, release_of(version))
    if views:
        files |= _view_files(views, namespace, release_of(version))
    files[HEADER] = nodes_header(classes, namespace, guard=guard)
    count = shards or max(1, -(-len(kernels) // KERNELS_PER_SHARD))
    for index, part in _sharded(classes, lambda node_class: node_class.info.origin.func.name, count).items():
        files[f"nodes_{index}.cpp"] = nodes_source(part, namespace, header=HEADER)
        if bindings_of is not None:
            source = python.nodes_source(part, namespace, file=bindings_of, header=HEADER)
            files[f"{python.EXTENSION_STEM}_{index}.cpp"] = part[0].release.spelled(source)
    kernels_of: dict[int, list[Kernel]] = _sharded(kernels, lambda kernel: kernel.entry, count) or {0: []}
    for index, group in kernels_of.items():
        files[f"kernels_{index}.cpp"] = kernels_source(group, namespace, nodes_header=HEADER, shipped=shipped)
    return files


def _sharded(items: Sequence[_Item], entry_of: Callable[[_Item], OperatorName], count: int) -> dict[int, list[_Item]]:
    """The items of each shard by its number; the shard of an entry does not depend on other entries."""
    parts: defaultdict[int, list[_Item]] = defaultdict(list)
    for item in items:
        parts[crc32(str(entry_of(item)).encode()) % count].append(item)
    return parts


def _view_files(kernels: Sequence[InplaceOrViewKernel], namespace: str, release: Release) -> dict[str, str]:
    """Return the sources of ADInplaceOrView kernels, and of the view functions that they use."""
    funcs = [view_func(kernel.function) for kernel in kernels if kernel.view_func is not None]
    files = {
        VIEWS: view_funcs_header(funcs, namespace),
        f"{TRACKING}_0.cpp": inplace_or_view_source(kernels, namespace, view_funcs_header=VIEWS, release=release),
    }
    if funcs:
        files["views.cpp"] = view_funcs_source(funcs, namespace, VIEWS)
    return {name: release.spelled(text) for name, text in files.items()}


def build_files(
    files: Mapping[str, str],
    namespace: str,
    release: Release,
    version: str | None,
    authors: Sequence[str],
) -> dict[str, str]:
    """Return the files that build and load the sources.

    Args:
        files: the files.
        namespace: the namespace of the node classes.
        release: the API of the sources.
        version: the only version of PyTorch with which they are built; None for any.
        authors: the author's sources, by their paths from the folder of the files.
    """
    project = target_name(namespace)
    # nodes precede the names that kernels import
    sources = sorted(
        (name for name in files if name.endswith(".cpp")), key=lambda name: (not name.startswith("nodes_"), name)
    )
    together = [(name, name.replace("nodes", "kernels")) for name in sources if name.startswith("nodes_")]
    bindings = "\n".join(name for name in sources if python.is_binding(name))
    listed = (quoted(path).replace("$", "\\$") if _NOT_BARE.search(path) else path for path in authors)
    listing = fill(
        load("CMakeLists.txt") + "\n",
        project=project,
        # a CMake variable, which has the syntax of a placeholder
        release_check=_guarded("release_check.cmake", version, found="${Torch_VERSION}"),
        standard=release.standard.removeprefix("c++"),
        sources="\n".join([*(name for name in sources if not python.is_binding(name)), *listed]),
        units="\n".join(
            f"set_source_files_properties({nodes} {kernels} PROPERTIES UNITY_GROUP {PurePath(nodes).stem})"
            for nodes, kernels in together
        ),
        python_bindings=python.cmake_targets(project, bindings) if bindings else "",
    )
    return {"loader.cpp": load("loader.cpp") + "\n", "CMakeLists.txt": listing.rstrip("\n") + "\n"}


def _guarded(template: str, version: str | None, **more: str) -> str:
    """Return the check that rejects other releases, or an empty string if the release is unknown."""
    number = known_number(version)
    if number is None:
        return ""
    return fill(load(template), major=str(number[0]), minor=str(number[1]), **more)


def target_name(namespace: str) -> str:
    """The name of the extension's library."""
    return namespace.strip(":").replace("::", "_")
