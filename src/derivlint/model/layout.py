"""The layout of a derivatives file: a list of entries as in PyTorch, or a list nested in a mapping as in back ends."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from derivlint.model.keys import VIEW_AUTOGRAD
from derivlint.schema.versions import ALL_VERSIONS, VERSION
from derivlint.source import SourceFile
from derivlint.yaml_reader import Mapping, Scalar, Sequence, YamlNode


class Layout(Struct, frozen=True):
    """The layout of a file's entries.

    Attributes:
        entries: the top-level key of the list of entries, or None if the file is the list.
        versions: the top-level key that lists the versions of the file, oldest first; as an entry's version it denotes
            all of them.
        version: the key of an entry's versions.
        ignored: further keys of entries, which do not concern derivatives.
        overrides: whether the entries replace PyTorch's entries for the same operators.
        declares: whether an entry declares its operator if nothing else does.
        composites: whether entries for composite operators are valid, as for kernels outside PyTorch.
        elsewhere: patterns of operators that another repository declares; their entries count as declarations.
        foreach: whether foreach operators use the formulas of the operators that they apply to each tensor.
        semicolons: whether a formula may end with a semicolon.
        cpp: whether formulas are C++ that is compiled with PyTorch's headers.
        marks: line prefixes in entries that identify this layout in a plain list.
    """

    entries: str | None = None
    versions: str | None = None
    version: str | None = None
    ignored: frozenset[str] = frozenset()
    overrides: bool = False
    declares: bool = False
    composites: bool = False
    elsewhere: tuple[str, ...] = ()
    foreach: bool = True
    semicolons: bool = False
    cpp: bool = True
    marks: tuple[str, ...] = ()

    def fitting(self, root: YamlNode | None, source: SourceFile | None = None) -> Layout:
        """The layout of a file in a project with this layout.

        A plain list has this layout unless its entries are marked. A mapping with a list under the entry key of exactly
        one known layout has that layout.

        Args:
            root: the root of the file.
            source: the file, if keys of entries may identify the layout.
        """
        if isinstance(root, Sequence):
            return self.of_list(source)
        if self.entries is None and isinstance(root, Mapping):
            for layout in LAYOUTS.values():
                if isinstance(layout.list_in(root), Sequence) or layout.is_empty(root):
                    entries = {"entries": layout.entries, "versions": layout.versions, "version": layout.version}
                    elsewhere = (*layout.elsewhere, *self.elsewhere)
                    return replace(self, **entries, overrides=layout.overrides, elsewhere=elsewhere)
        return self

    def of_list(self, source: SourceFile | None) -> Layout:
        """The layout of a plain list: the one that its entries are marked with, if this layout is the default.

        The versions of a plain list are those in its entries.
        """
        marked = marked_layout(source) if source is not None else None
        has_versions = marked is not None and marked.version is not None
        plain = replace(self, entries=None, versions=self.versions if has_versions else None)
        if marked is None or replace(plain, ignored=frozenset(), elsewhere=()) != PLAIN:
            return plain
        elsewhere = (*marked.elsewhere, *self.elsewhere)
        return replace(marked, entries=None, ignored=marked.ignored | self.ignored, elsewhere=elsewhere)

    def of_framework(self) -> Layout:
        """The layout for a framework other than PyTorch, whose generator and headers do not apply."""
        return replace(self, composites=True, foreach=False, cpp=False)

    def list_in(self, root: YamlNode | None) -> YamlNode | None:
        """The node under the entry key, or the root; None if it is absent."""
        if self.entries is None:
            return root
        return root.get(self.entries) if isinstance(root, Mapping) else None

    def is_empty(self, root: YamlNode | None) -> bool:
        """Whether a file lists its versions but has no value under the entry key."""
        node = self.list_in(root)
        has_versions = self.versions is not None and isinstance(root, Mapping) and root.get(self.versions) is not None
        return has_versions and isinstance(node, Scalar) and node.kind == "null"

    def declares_operator(self, name: str) -> bool:
        """Whether an entry with this name also declares the operator."""
        return self.declares or any(fnmatchcase(name, pattern) for pattern in self.elsewhere)

    def ignores(self, key: str) -> bool:
        """Whether a key of an entry does not concern derivatives."""
        return key == self.version or key in self.ignored


PLAIN = Layout()
#: torch_npu's op_plugin/config/derivatives.yaml: one file for all supported versions of PyTorch; until November 2024 a
#: plain list with ``version: v1.11, v2.0`` in each entry. torch_npu itself declares the casts of formats, in
#: npu_native_functions.yaml.
TORCH_NPU = Layout(
    entries="backward",
    versions=ALL_VERSIONS,
    version=VERSION,
    overrides=True,
    elsewhere=("_npu_format_cast*",),
    marks=tuple(f"{VERSION}: {value}" for value in ("v1", "v2", "[v1", "[v2", ALL_VERSIONS)),
)
#: candle's copy of PyTorch's file, for a generator of its own, whose kernels and helpers are not PyTorch's.
CANDLE = Layout(
    ignored=frozenset({VIEW_AUTOGRAD}),
    declares=True,
    composites=True,
    foreach=False,
    semicolons=True,
    cpp=False,
    marks=(f"{VIEW_AUTOGRAD}:",),
)
#: The named layouts.
LAYOUTS = {"candle": CANDLE, "torch_npu": TORCH_NPU}


def name_of_layout(layout: Layout | None) -> str | None:
    """The name of a layout; None for one without a name."""
    return next((name for name, named in LAYOUTS.items() if named is layout), None)


def marked_layout(source: SourceFile) -> Layout | None:
    """The layout with a mark on a line of an entry, or None."""
    return _marked_layout(source.text)


@lru_cache(maxsize=4)
def _marked_layout(text: str) -> Layout | None:
    return next((layout for layout in LAYOUTS.values() if any(_has_line(text, mark) for mark in layout.marks)), None)


def _has_line(text: str, beginning: str) -> bool:
    """Whether an indented line has this prefix."""
    start = text.find(beginning)
    while start != -1:
        indent = text[text.rfind("\n", 0, start) + 1 : start]
        if indent and not indent.strip(" \t-"):
            return True
        start = text.find(beginning, start + 1)
    return False
