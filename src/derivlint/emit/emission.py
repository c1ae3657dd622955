"""Assembles all emitted files of a model, for an installed PyTorch or for a PyTorch build."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path

from msgspec import Struct, field

from derivlint.emit.extension import build_files, extension_files
from derivlint.emit.files import FilesError
from derivlint.emit.in_tree import in_tree_files
from derivlint.emit.inplace_or_view import InplaceOrViewKernel, inplace_or_view_kernels
from derivlint.emit.kernels import Kernel, kernels
from derivlint.emit.kernels.kernel import refusals, without_formulas_for
from derivlint.emit.kernels.subject import AUTOGRAD
from derivlint.emit.manifest import AUTHORS, MANIFEST, manifest_text
from derivlint.emit.nodes import node_classes
from derivlint.emit.own_operators import called_names, own_operators, refusal, with_called
from derivlint.emit.places import Places
from derivlint.emit.release import release_of, target_version
from derivlint.emit.selection import ATEN
from derivlint.emit.template import yaml_name
from derivlint.model import Model
from derivlint.schema import NativeFunction
from derivlint.source import read_input

#: The path of the user's own helpers, so that their header is found before that of the installed PyTorch.
MANUAL = "helpers/torch/csrc/autograd/FunctionsManual"


class EmissionMode(Enum):
    """The purpose of the files."""

    EXTENSION = "extension"
    IN_TREE = "in-tree"


class Helpers(Struct, frozen=True):
    """The user's own FunctionsManual: the source, and the header next to it if there is one."""

    source: str
    header: str | None

    @classmethod
    def read(cls, path: Path) -> Helpers:
        """Read the helpers of a FunctionsManual.cpp.

        Raises:
            FilesError: the file cannot be read.
        """
        beside = path.with_suffix(".h")
        try:
            header = read_input(beside).decode() if beside.exists() else None
            return cls(read_input(path).decode(), header)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise FilesError(f'cannot read the helpers "{path}": {reason}') from error


class Authors(Struct, frozen=True):
    """The author's C++ files, by paths relative to the output folder, with slashes.

    Attributes:
        headers: the declarations of functions that formulas call.
        sources: the sources built into the extension: helpers, kernels, operator definitions.
    """

    headers: tuple[str, ...]
    sources: tuple[str, ...]


class Emission(Struct, frozen=True):
    """The emitted files of a model.

    Attributes:
        files: the texts, by path in the folder.
        operators: the operators with a kernel, each with the class of its node, or None if it creates none.
        nodes: the number of node classes.
        left_out: the operators without a kernel, with the reason.
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
    mode: EmissionMode = EmissionMode.EXTENSION,
    shards: int | None = None,
    helpers: Helpers | None = None,
    left_out: Mapping[str, str] | None = None,
    python_bindings: bool = True,
    dispatch_key: str | None = None,
    shipped: Collection[str] = (),
    authors: Authors | None = None,
    line_directives: bool = False,
) -> Emission:
    """Emit the files for the chosen operators of a model.

    Args:
        model: a model without errors.
        operators: names as :func:`derivlint.emit.selection.is_selected` takes them; None for all.
        namespace: the namespace of the node classes.
        mode: the purpose of the files.
        shards: the number of files for kernels in a PyTorch build, and the maximum for an extension.
        helpers: the user's own helpers.
        left_out: operators that must not be overridden, by full name, with the reason.
        python_bindings: whether to expose the node classes and saved variables to Python, ``grad_fn._saved_self``.
        dispatch_key: the autograd key of all kernels; then only kernels and their nodes are emitted.
        shipped: node classes of PyTorch's own library that replace those of the model.
        authors: the author's C++ for an extension.
        line_directives: whether to emit ``#line`` directives for formulas instead of a map.

    Raises:
        UnsupportedRelease: code cannot be emitted for the release of the operators.
    """
    without = dict(left_out or {})
    is_in_tree = mode is EmissionMode.IN_TREE
    operators = operators if is_in_tree else with_called(model, operators)
    # a kernel without an entry is identical in PyTorch already
    candidates = kernels(model, operators, dispatch_key, only_with_entry=not is_in_tree, in_tree=is_in_tree)
    chosen = [kernel for kernel in candidates if str(kernel.function.name) not in without]
    node_names = {kernel.node for kernel in chosen if kernel.node is not None and kernel.node not in shipped}
    # in a PyTorch build the header covers the whole file, whatever kernels are chosen
    is_whole = is_in_tree and operators is None
    classes = node_classes(model, None if is_whole else node_names)
    if is_in_tree:
        files = in_tree_files(model, operators, classes, chosen, namespace, shards, python_bindings)
    else:
        version = target_version(model.natives.version)
        chosen += refusals(model, _own_without_derivative(model, chosen, without), dispatch_key)
        views = _own_views(model, chosen) if dispatch_key is None else ()
        files = extension_files(
            classes,
            chosen,
            namespace,
            shards,
            bindings_of=yaml_name(model.source.path) if python_bindings else None,
            version=version,
            own=_own_needed(model, [*(kernel.function for kernel in chosen), *(view.function for view in views)]),
            views=views,
            shipped=shipped,
            headers=() if authors is None else authors.headers,
        )
        if helpers is not None:
            files[f"{MANUAL}.cpp"] = helpers.source
            if helpers.header is not None:
                files[f"{MANUAL}.h"] = helpers.header
        files |= build_files(files, namespace, release_of(version), version, () if authors is None else authors.sources)
    names = _nodes_by_operator(chosen)
    absent = {str(kernel.function.name) for kernel in candidates} & without.keys()
    if dispatch_key is not None:
        of_other_keys = without_formulas_for(dispatch_key, model, operators)
        without |= of_other_keys
        absent |= of_other_keys.keys()
    files = Places(model, line_directives=line_directives).finish(files)
    emitted = Emission(files, names, len(classes), {name: without[name] for name in sorted(absent)})
    files[MANIFEST] = _manifest(emitted, namespace, mode, model, authors)
    return emitted


def _own_needed(model: Model, kernels_of: Iterable[NativeFunction]) -> list[NativeFunction]:
    """The custom operators that kernels or formulas call; other operators may need another release."""
    own = own_operators(model.natives)
    if not own:
        return []
    called = {str(function.name) for function in kernels_of if function.namespace != ATEN}
    names = called_names(model.entries)
    return [
        function
        for function in own
        if refusal(function) is None and (str(function.name) in called or function.cpp_name in names)
    ]


def _own_without_derivative(
    model: Model, chosen: Sequence[Kernel], without: Collection[str]
) -> Iterator[NativeFunction]:
    """The called custom operators that have no derivative."""
    with_kernel = {str(kernel.function.name) for kernel in chosen}
    for function in _own_needed(model, ()):
        name = str(function.name)
        is_elsewhere = name not in without and any(
            info.has_derivatives for info in model.match(function).infos.values()
        )
        if name not in with_kernel and not is_elsewhere:
            yield function


def _own_views(model: Model, chosen: Iterable[Kernel]) -> tuple[InplaceOrViewKernel, ...]:
    """Return the ADInplaceOrView kernels of custom operators; PyTorch ships those of its own."""
    own = {str(kernel.function.name) for kernel in chosen if kernel.function.namespace != ATEN}
    if not own:
        return ()
    return tuple(kernel for kernel in inplace_or_view_kernels(model, own) if kernel.function.namespace != ATEN)


def _nodes_by_operator(chosen: Iterable[Kernel]) -> dict[str, str | None]:
    """The node class of each operator's kernel; with kernels under several keys, that of ``Autograd``."""
    nodes: dict[str, str | None] = {}
    for kernel in chosen:
        name = str(kernel.function.name)
        if name not in nodes or kernel.dispatch_key == AUTOGRAD:
            nodes[name] = kernel.node
    return nodes


def _manifest(emitted: Emission, namespace: str, mode: EmissionMode, model: Model, authors: Authors | None) -> str:
    content: dict[str, object] = {
        "mode": mode.value,
        "namespace": namespace,
        "torch": target_version(model.natives.version),
        "operators": dict(sorted(emitted.operators.items())),
        "left_out": dict(emitted.left_out),
    }
    if authors is not None:
        content[AUTHORS] = list(authors.sources)
    return manifest_text(content, emitted.files)
