"""The files of an emission: what they are called, what each of them holds, and putting them on disk.

A file is rewritten only when its text changes, so that what was compiled from it stays valid, and it is never there by
half: it is written beside its place and moved. The manifest, which names the other files, is written last.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from derivlint.emit.kernels import Kernel, kernels, kernels_source
from derivlint.emit.nodes import NodeClass, node_classes, nodes_header, nodes_source
from derivlint.emit.template import fill, load
from derivlint.model import Model
from derivlint.source import replace_file

MANIFEST = "derivlint.json"
#: Names the form of the manifest.
FORMAT = 1
#: As many kernels and nodes are compiled as one unit by default: they take about as long as PyTorch's headers.
KERNELS_PER_SHARD = 120
NODES_PER_SHARD = 240
#: Where the user's own helpers stand, so that their header is found before that of the installed PyTorch.
MANUAL = "helpers/torch/csrc/autograd/FunctionsManual"

_Item = TypeVar("_Item")


class Mode(Enum):
    """What the files are for."""

    EXTENSION = "extension"
    IN_TREE = "in-tree"


class FilesError(Exception):
    """A folder or a file cannot be written or read."""


@dataclass(frozen=True, slots=True)
class Helpers:
    """The user's own FunctionsManual: its source, and its header where one stands beside it."""

    source: str
    header: str | None

    @classmethod
    def read(cls, path: Path) -> Helpers:
        """The helpers of a FunctionsManual.cpp.

        Raises:
            FilesError: it cannot be read.
        """
        beside = path.with_suffix(".h")
        try:
            return cls(
                path.read_text(encoding="utf-8"), beside.read_text(encoding="utf-8") if beside.exists() else None
            )
        except (OSError, UnicodeDecodeError) as error:
            raise FilesError(f'cannot read the helpers "{path}": {error}') from error


@dataclass(frozen=True, slots=True)
class Emission:
    """The files of a model.

    Attributes:
        files: their texts, by their paths in the folder.
        operators: the operators that get a kernel, with the class of its node, None where it makes none.
        nodes: the number of node classes.
        left_out: operators that get none, with the reason.
    """

    files: Mapping[str, str]
    operators: Mapping[str, str | None]
    nodes: int
    left_out: Mapping[str, str] = field(default_factory=dict)


def emission(
    model: Model,
    operators: Collection[str] | None,
    namespace: str,
    *,
    mode: Mode = Mode.EXTENSION,
    shards: int | None = None,
    helpers: Helpers | None = None,
    left_out: Mapping[str, str] | None = None,
) -> Emission:
    """The files for the chosen operators of a model.

    Args:
        model: a model without errors.
        operators: names as :func:`derivlint.emit.kernels.kernels` takes them; None for all.
        namespace: the namespace of the node classes.
        mode: what the files are for.
        shards: into how many files kernels and nodes are divided each.
        helpers: the user's own helpers.
        left_out: operators that are not to be overridden, by full name, with the reason.
    """
    without = left_out or {}
    found = [kernel for kernel in kernels(model, operators) if _is_wanted(kernel, mode)]
    chosen = [kernel for kernel in found if str(kernel.function.name) not in without]
    wanted = {kernel.node for kernel in chosen if kernel.node is not None}
    # in a build of PyTorch the header stands for the whole file, whatever kernels are chosen
    is_whole = mode is Mode.IN_TREE and operators is None
    classes = [each for each in node_classes(model) if is_whole or each.name in wanted]
    files = _texts(chosen, classes, namespace, shards, mode)
    if mode is Mode.EXTENSION:
        if helpers is not None:
            files[f"{MANUAL}.cpp"] = helpers.source
            if helpers.header is not None:
                files[f"{MANUAL}.h"] = helpers.header
        files["loader.cpp"] = load("loader.cpp") + "\n"
        sources = sorted(name for name in files if name.endswith(".cpp"))
        listed = "\n".join(name for name in sources if name != "loader.cpp")
        files["CMakeLists.txt"] = fill(load("CMakeLists.txt"), project=target_name(namespace), sources=listed) + "\n"
    names = {str(kernel.function.name): kernel.node for kernel in chosen}
    absent = {str(kernel.function.name) for kernel in found} & without.keys()
    emitted = Emission(files, names, len(classes), {name: without[name] for name in sorted(absent)})
    files[MANIFEST] = _manifest(emitted, namespace, mode, model)
    return emitted


def _is_wanted(kernel: Kernel, mode: Mode) -> bool:
    """Whether a kernel is emitted: one that no entry of the file speaks of is the same in PyTorch already."""
    return mode is Mode.IN_TREE or (kernel.line is not None and not kernel.is_generic)


def target_name(namespace: str) -> str:
    """The name of the library that an extension becomes."""
    return namespace.strip(":").replace("::", "_")


def _texts(
    chosen: Sequence[Kernel], classes: Sequence[NodeClass], namespace: str, shards: int | None, mode: Mode
) -> dict[str, str]:
    in_tree = mode is Mode.IN_TREE
    header, node_stem, kernel_stem = (
        ("Functions.h", "Functions", "VariableType") if in_tree else ("nodes.h", "nodes", "kernels")
    )
    files = {header: nodes_header(classes, namespace)}
    for index, part in enumerate(_parts(classes, shards or -(-len(classes) // NODES_PER_SHARD))):
        name = f"{node_stem}_{index}.cpp"
        files[name] = nodes_source(part, namespace, name=name, header=header)
    for index, group in enumerate(_parts(chosen, shards or -(-len(chosen) // KERNELS_PER_SHARD))):
        name = f"{kernel_stem}_{index}.cpp"
        files[name] = kernels_source(group, namespace, nodes_header=header, file_name=name)
    return files


def _parts(items: Sequence[_Item], count: int) -> list[Sequence[_Item]]:
    """As many parts of about the same size, in order; at least one, and none that is empty beside it."""
    count = max(1, min(count, len(items)))
    bounds = [len(items) * index // count for index in range(count + 1)]
    return [items[start:end] for start, end in pairwise(bounds)]


def _manifest(emitted: Emission, namespace: str, mode: Mode, model: Model) -> str:
    content = {
        "format": FORMAT,
        "mode": mode.value,
        "namespace": namespace,
        "torch": model.natives.version,
        "files": sorted(emitted.files),
        "operators": dict(sorted(emitted.operators.items())),
        "left_out": dict(emitted.left_out),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class Changes:
    """What writing would do, or did: paths in the folder."""

    written: tuple[str, ...]
    removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.written or self.removed)


def changes(folder: Path, files: Mapping[str, str]) -> Changes:
    """How the folder differs from the files; those that an earlier emission left are to be removed.

    Raises:
        FilesError: it cannot be read.
    """
    written = tuple(name for name in sorted(files) if _current(folder / name) != files[name].encode())
    return Changes(written, tuple(name for name in _emitted_before(folder) if name not in files))


def write_files(folder: Path, files: Mapping[str, str]) -> Changes:
    """Bring the folder to hold the files; those that are right already are not touched.

    Raises:
        FilesError: it cannot be read or written.
    """
    found = changes(folder, files)
    try:
        for name in sorted(found.written, key=lambda name: name == MANIFEST):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            replace_file(folder / name, files[name].encode())
        for name in found.removed:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise FilesError(f'cannot write to "{folder}": {error.strerror or error}') from error
    return found


def _current(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FilesError(f'cannot read "{path}": {error.strerror or error}') from error


def _emitted_before(folder: Path) -> list[str]:
    """The files that the manifest in the folder names, as far as they lie in it and are there."""
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
        names = [str(name) for name in content["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    inside = [name for name in names if not Path(name).is_absolute() and ".." not in Path(name).parts]
    return sorted(name for name in inside if (folder / name).is_file())
