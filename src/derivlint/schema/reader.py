"""Read native_functions.yaml, and out-of-tree files of the same format.

Unknown fields, tags and dispatch keys are accepted: each PyTorch release has its own. Follows torchgen/gen.py,
``parse_native_yaml_struct``, and torchgen/model.py, ``NativeFunction.from_yaml``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Mapping_
from collections.abc import Sequence as Seq
from functools import lru_cache
from itertools import chain
from typing import Any

from derivlint.schema.native_function import AUTOGRAD_KEYS, DEFAULT_NAMESPACE, NativeFunction
from derivlint.schema.natives import NativeFunctions, NativeProblem
from derivlint.schema.syntax.names import SchemaError
from derivlint.schema.versions import (
    ALL_VERSIONS,
    VERSION,
    FileVersions,
    entry_versions,
    file_versions,
    named_versions,
)
from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import Mapping, Scalar, Sequence, YamlNode, read_yaml

#: The dispatch key of out-of-tree backends.
OUT_OF_TREE_KEYS = ("PrivateUse1",)

#: The groups of operators with a back end's own autograd kernels (torchgen/gen_backend_stubs.py, and torch_npu).
AUTOGRAD_GROUPS = frozenset({"autograd", "custom_autograd"})

#: The groups of a back end's own operators, in its own namespace.
CUSTOM_GROUPS = frozenset({"custom", "custom_autograd"})

#: The name that a back end's argument ``grad`` has in entries.
RENAMED_TO = "grad_out"
_GRAD = re.compile(r"(?<= )grad(?=[,)=])")

_NO_NAMESPACES: Mapping_[str, str] = {}
_TRUE = frozenset({"true", "yes", "on"})

#: Fields that the model takes as they are: strings, booleans and lists of names.
_STRINGS = frozenset({"structured_delegate", "python_module", "category_override", "device_check"})
_BOOLEANS = frozenset(
    {
        "structured",
        "manual_kernel_registration",
        "manual_cpp_binding",
        "device_guard",
        "use_const_ref_for_mutable_tensors",
    }
)


def read_native_functions(
    sources: Seq[SourceFile], *, tags: SourceFile | None = None, namespaces: Mapping_[str, str] = _NO_NAMESPACES
) -> NativeFunctions:
    """Read the native functions of files, in order; unreadable parts become problems.

    A file is a list of entries. A schema that a later file repeats replaces the earlier entry; within one file a
    repeated operator is a problem. A file may also be a mapping of such lists, as in torch_npu: its entries declare the
    kernels of a backend, in addition to the known ones.

    Args:
        sources: the files.
        tags: tags.yaml.
        namespaces: the default namespace of a back end's own operators, by file path.
    """
    problems: list[NativeProblem] = []
    functions: dict[tuple[str, str], NativeFunction] = {}
    for source in sources:
        root = _read_root(source, problems)
        if isinstance(root, Mapping):
            versions = file_versions(root, ALL_VERSIONS)
            if versions is not None and not versions.names:
                lists = (pair.value.items for pair in root.pairs if isinstance(pair.value, Sequence))
                versions = FileVersions(ALL_VERSIONS, named_versions(chain.from_iterable(lists), VERSION))
            own = namespaces.get(source.path, DEFAULT_NAMESPACE)
            custom = _custom_names(root) if own != DEFAULT_NAMESPACE else frozenset()
            for pair in root.pairs:
                if isinstance(pair.value, Sequence):
                    for function, _ in _read_list(source, pair.value, problems, grouped=True, versions=versions):
                        if str(function.name) in custom and function.namespace == DEFAULT_NAMESPACE:
                            function.namespace = own
                        merged = functions.setdefault((function.namespace, function.schema_text), function)
                        merged.has_backend_kernel = True
                        merged.has_autograd_kernel |= isinstance(pair.key, Scalar) and pair.key.value in AUTOGRAD_GROUPS
                        merged.add_versions(function.versions)
        elif isinstance(root, Sequence):
            _add_list(source, root, functions, problems)
        elif root is not None:
            problems.append(NativeProblem(source, "the file is not a list of native functions", root.within, None))
    _mark_own_operators(functions.values())
    known_tags = None if tags is None else _read_tags(tags, problems)
    return NativeFunctions(
        functions.values(),
        problems=problems,
        autograd_keys=AUTOGRAD_KEYS,
        known_tags=known_tags,
        origin=", ".join(source.path for source in sources),
    )


def _custom_names(root: Mapping) -> frozenset[str]:
    """The operators in a back end's own groups; other groups may repeat them."""
    groups = (pair.value for pair in root.pairs if isinstance(pair.key, Scalar) and pair.key.value in CUSTOM_GROUPS)
    items = (item for group in groups if isinstance(group, Sequence) for item in group.items)
    schemas = (item.get("func") for item in items if isinstance(item, Mapping))
    return frozenset(schema.value.partition("(")[0].strip() for schema in schemas if isinstance(schema, Scalar))


def _mark_own_operators(functions: Iterable[NativeFunction]) -> None:
    """Mark the operators of files that are not PyTorch's: a file without ``add`` belongs to a library."""
    by_file: dict[str | None, list[NativeFunction]] = {}
    for function in functions:
        by_file.setdefault(function.source[0] if function.source is not None else None, []).append(function)
    for group in by_file.values():
        if not any(function.name.base == "add" for function in group):
            for function in group:
                function.in_cpp_api = False


def _read_root(source: SourceFile, problems: list[NativeProblem]) -> YamlNode | None:
    document = read_yaml(source)
    problems.extend(NativeProblem(source, p.message, p.span, p.help) for p in document.problems)
    return document.root


def _add_list(
    source: SourceFile,
    node: Sequence,
    functions: dict[tuple[str, str], NativeFunction],
    problems: list[NativeProblem],
) -> None:
    first: dict[tuple[str, str], Span] = {}
    for function, span in _read_list(source, node, problems, grouped=False):
        name = (function.namespace, str(function.name))
        if name in first:
            line = source.position(first[name].start).line
            message = f'operator "{function.name}" is declared twice, first on line {line}'
            problems.append(NativeProblem(source, message, span, None))
        else:
            first[name] = span
            functions[(function.namespace, function.schema_text)] = function


def _read_list(
    source: SourceFile,
    node: Sequence,
    problems: list[NativeProblem],
    *,
    grouped: bool,
    versions: FileVersions | None = None,
) -> Iterator[tuple[NativeFunction, Span]]:
    for item in node.items:
        fields = {}
        if isinstance(item, Mapping):
            fields = {pair.key.value: pair.value for pair in item.pairs if isinstance(pair.key, Scalar)}
        func = fields.get("func")
        if not isinstance(func, Scalar) or func.kind != "str":
            # A grouped file has lists of operator names beside lists of schemas.
            if not grouped:
                problems.append(NativeProblem(source, 'the entry has no "func" with a schema', item.within, None))
            continue
        if grouped and "(" not in func.value:
            continue
        written, namespace, offset = _split_namespace(func.value)
        # "grad" is the incoming gradient in formulas, so such a back end's generator renames the argument
        text = _GRAD.sub(RENAMED_TO, written) if grouped and RENAMED_TO not in written else written
        facts = _facts(fields)
        if grouped:
            # the whole file declares kernels of a backend, so autograd needs a derivative
            facts.setdefault("dispatch", OUT_OF_TREE_KEYS)
        function = NativeFunction(text, namespace=namespace, source=(source.path, func.within), **facts)
        function.in_cpp_api = not grouped
        function.versions = _versions_of(fields, versions) if versions is not None else None
        try:
            if text != written:
                # mistakes have the places and the words of the written schema
                _ = NativeFunction(written).schema_text
            _ = function.schema_text
        except SchemaError as error:
            mistake = error.mistake
            place = func.range_of(mistake.start + offset, mistake.end + offset)
            problems.append(NativeProblem(source, mistake.message, place, mistake.help))
            continue
        yield function, func.within


def _versions_of(fields: Mapping_[str, YamlNode], versions: FileVersions) -> frozenset[str] | None:
    """The versions in a field for a kind of kernel; None for all.

    A malformed field has a problem of its own.
    """
    versions_of_fields = [entry_versions(node, versions) for name, node in fields.items() if name != "func"]
    names = frozenset(name for item in versions_of_fields if not item.problems for name in item.names)
    return names if names and names != frozenset(versions.names) else None


def _split_namespace(func: str) -> tuple[str, str, int]:
    """Split ``aten::abs(...)`` into the rest, the namespace and the offset of the rest."""
    head = func.partition("(")[0]
    namespace, colons, _ = head.rpartition("::")
    if not colons:
        return func, DEFAULT_NAMESPACE, 0
    offset = len(namespace) + 2
    return func[offset:], namespace.strip(), offset


def _facts(fields: dict[str, YamlNode]) -> dict[str, Any]:
    """The keyword arguments of ``NativeFunction`` for the fields of an entry; values of the wrong type are dropped."""
    facts: dict[str, Any] = {}
    for name, node in fields.items():
        if name in _STRINGS:
            if isinstance(node, Scalar) and node.kind == "str":
                facts[name] = sys.intern(node.value)
        elif name in _BOOLEANS:
            if isinstance(node, Scalar) and node.kind == "bool":
                facts[name] = node.value.lower() in _TRUE
        elif name == "variants":
            facts[name] = _names(node.value) if isinstance(node, Scalar) else frozenset({"function"})
        elif name in ("tags", "cpp_no_default_args"):
            facts[name] = frozenset(_strings(node))
        elif name == "autogen":
            facts[name] = _split(node.value) if isinstance(node, Scalar) and node.value else ()
        elif name == "dispatch":
            if isinstance(node, Mapping):
                keys: list[str] = []
                for key, _ in node.pairs:
                    if isinstance(key, Scalar):
                        keys += _split(key.value)
                facts[name] = tuple(keys)
        elif name == "ufunc_inner_loop":
            facts["ufunc"] = True
    return facts


@lru_cache(maxsize=1024)
def _split(text: str) -> tuple[str, ...]:
    """Split ``CPU, CUDA`` at commas; cached, since a file repeats few values many times."""
    return tuple([sys.intern(part.strip()) for part in text.split(",")])


@lru_cache(maxsize=64)
def _names(text: str) -> frozenset[str]:
    return frozenset(_split(text))


def _strings(node: YamlNode) -> list[str]:
    """A string or a list of strings."""
    nodes = node.items if isinstance(node, Sequence) else (node,)
    return [sys.intern(item.value) for item in nodes if isinstance(item, Scalar)]


def _read_tags(source: SourceFile, problems: list[NativeProblem]) -> frozenset[str]:
    root = _read_root(source, problems)
    names = set()
    if isinstance(root, Sequence):
        for item in root.items:
            tag = item.get("tag") if isinstance(item, Mapping) else None
            if isinstance(tag, Scalar):
                names.add(tag.value)
    return frozenset(names)
