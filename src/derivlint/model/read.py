"""Read entries from YAML nodes, without operators.

Follows torchgen/packaged/autograd/load_derivatives.py, ``load_derivatives`` and the head of
``create_differentiability_info``, for the meaning of the keys of an entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as Seq
from functools import lru_cache
from typing import overload

from derivlint.formula import Call, Name, walk
from derivlint.model.entry import Entry, EntryContext
from derivlint.model.entry_syntax import BodySyntax, EntrySyntax, FormProblem, FormProblemKind, OutputDifferentiability
from derivlint.model.keys import DEFAULT, DISPATCH, NAME, OUTPUT_DIFFERENTIABILITY
from derivlint.model.layout import PLAIN, Layout, marked_layout
from derivlint.schema import SchemaError, parse_schema
from derivlint.schema.versions import FileVersions, entry_versions, file_versions
from derivlint.source import SourceFile
from derivlint.yaml_reader import Document, Mapping, Pair, PlacedNode, Scalar, Sequence, YamlNode, read_yaml
from derivlint.yaml_reader.split import SplitDocument, read_split


def read_file(source: SourceFile) -> tuple[Entry, ...]:
    """Read the entries of a file without resolving operators."""
    document = document_of(source)
    layout = layout_of(document)
    versions = versions_of(document, layout)
    items = enumerate(items_of(document, layout))
    return tuple(Entry(index, item, read_syntax(item.node, layout, versions)) for index, item in items)


@lru_cache(maxsize=1)
def document_of(source: SourceFile) -> Document:
    """The YAML of a file; the last one is cached, since several callers read it in turn."""
    return split_document(source) or read_yaml(source)


def split_document(source: SourceFile, is_readable: Callable[[str], bool] | None = None) -> SplitDocument | None:
    """Split a plain list into texts of entries that are read on demand; None for other files.

    Versions are collected from the whole file by :func:`derivlint.schema.versions.named_versions`.
    """
    layout = marked_layout(source)
    return read_split(source, is_readable) if layout is None or layout.version is None else None


def layout_of(document: Document, layout: Layout = PLAIN) -> Layout:
    """Detect the layout of a file, given that of its project."""
    if isinstance(document, SplitDocument):
        return layout.of_list(document.source)
    return layout.fitting(document.root, document.source)


def items_of(document: Document, layout: Layout) -> Iterator[PlacedNode]:
    """The items of a file's list of entries."""
    if isinstance(document, SplitDocument):
        return document.items
    node = layout.list_in(document.root)
    return (PlacedNode(item, 0) for item in (node.items if isinstance(node, Sequence) else ()))


def entry_names(source: SourceFile) -> list[str]:
    """The ``name`` values of entries that are strings."""
    document = document_of(source)
    items = items_of(document, layout_of(document))
    values = (item.get(NAME) for item, _ in items if isinstance(item, Mapping))
    return [value.value for value in values if isinstance(value, Scalar) and value.kind == "str"]


def called_functions(source: SourceFile) -> Iterator[tuple[str, int]]:
    """The unqualified names of called functions, with the number of arguments."""
    for formula in (formula for entry in read_file(source) for body in entry.bodies for formula in body.formulas):
        tree = formula.parsed.tree if formula.text is not None else None
        for node in walk(tree) if tree is not None else ():
            if isinstance(node, Call) and isinstance(node.callee, Name):
                yield node.callee.parts[-1].identifier, len(node.args)


def versions_of(document: Document, layout: Layout) -> FileVersions | None:
    """The versions that a file serves; None for a file without versions."""
    if isinstance(document, SplitDocument):
        return None
    return file_versions(document.root, layout.versions, layout.version)


class ListEntries(Seq[Entry]):
    """The entries of a plain list, each read on demand."""

    def __init__(self, document: SplitDocument, operators: EntryContext) -> None:
        self._document = document
        self._operators = operators
        self._read: list[Entry | None] = [None] * document.count

    def __len__(self) -> int:
        return len(self._read)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, index: int | slice) -> Entry | tuple[Entry, ...]:
        if isinstance(index, slice):
            return tuple(self[at] for at in range(*index.indices(len(self))))
        entry = self._read[index]
        if entry is None:
            at = index % len(self._read)
            item = self._document.item(at)
            syntax = read_syntax(item.node, self._operators.layout)
            entry = self._read[at] = Entry(at, item, syntax, self._operators)
        return entry

    def __iter__(self) -> Iterator[Entry]:
        return map(self.__getitem__, range(len(self)))


def read_syntax(node: YamlNode, layout: Layout = PLAIN, versions: FileVersions | None = None) -> EntrySyntax:
    """Read one item of the list, of any form."""
    holds = None
    if versions is not None:
        value = node.get(layout.version) if isinstance(node, Mapping) and layout.version is not None else None
        holds = entry_versions(value, versions)
    if not isinstance(node, Mapping):
        return EntrySyntax(problems=(FormProblem(FormProblemKind.ENTRY_TYPE, node),), versions=holds)
    problems: list[FormProblem] = []
    pairs = _first_of_each(node, problems, until=NAME)
    name = pairs.pop(NAME, None)
    misnamed = None
    schema: Scalar | None = None
    if name is None:
        problems.append(FormProblem(FormProblemKind.NO_NAME, node))
        misnamed = _misnamed(pairs)
        if misnamed is not None:
            del pairs[misnamed.value]
    elif isinstance(name.value, Scalar) and name.value.kind == "str":
        schema = name.value
    else:
        problems.append(FormProblem(FormProblemKind.NAME_TYPE, name.value))
    pairs = {key: pair for key, pair in pairs.items() if not layout.ignores(key)}
    declared = pairs.pop(OUTPUT_DIFFERENTIABILITY, None)
    dispatch = pairs.pop(DISPATCH, None)
    differentiability = None
    if declared is not None:
        differentiability = _read_output_differentiability(declared, dispatch is not None, problems)
    if dispatch is None:
        body = BodySyntax(DEFAULT, None, node, _formulas(list(pairs.values()), problems))
        return EntrySyntax(
            name=schema,
            bodies=(body,),
            output_differentiability=differentiability,
            problems=tuple(problems),
            misnamed=misnamed,
            versions=holds,
        )
    assert isinstance(dispatch.key, Scalar)
    bodies = _read_dispatch(dispatch.value, problems)
    return EntrySyntax(
        name=schema,
        bodies=bodies,
        dispatch=dispatch.value,
        dispatch_key_node=dispatch.key,
        beside_dispatch=tuple((pair.key, pair.value) for pair in pairs.values() if isinstance(pair.key, Scalar)),
        output_differentiability=differentiability,
        problems=tuple(problems),
        misnamed=misnamed,
        versions=holds,
    )


def _misnamed(pairs: dict[str, Pair]) -> Scalar | None:
    """The key whose value is a schema, such as ``func`` of native_functions.yaml; formulas never look like schemas."""
    for pair in pairs.values():
        key, value = pair.key, pair.value
        if isinstance(key, Scalar) and isinstance(value, Scalar) and value.kind == "str":
            try:
                parse_schema(value.value)
            except SchemaError:
                continue
            return key
    return None


def _first_of_each(mapping: Mapping, problems: list[FormProblem], until: str | None = None) -> dict[str, Pair]:
    """The pairs by key; the first of repeated keys counts.

    A repeated key ``until`` begins an entry whose ``- `` is missing: it and all later pairs are ignored.
    """
    pairs: dict[str, Pair] = {}
    for pair in mapping.pairs:
        if isinstance(pair.key, Scalar) and pair.key.kind == "str":
            if pair.key.value == until and until in pairs:
                break
            pairs.setdefault(pair.key.value, pair)
        else:
            problems.append(FormProblem(FormProblemKind.KEY_TYPE, pair.key))
    return pairs


def _read_dispatch(node: YamlNode, problems: list[FormProblem]) -> tuple[BodySyntax, ...]:
    if not isinstance(node, Mapping):
        problems.append(FormProblem(FormProblemKind.DISPATCH_TYPE, node))
        return ()
    bodies = []
    for key, pair in _first_of_each(node, problems).items():
        assert isinstance(pair.key, Scalar)
        if isinstance(pair.value, Mapping):
            pairs = _formulas(list(_first_of_each(pair.value, problems).values()), problems)
            bodies.append(BodySyntax(key, pair.key, pair.value, pairs))
        else:
            bodies.append(BodySyntax(key, pair.key, None))
            problems.append(FormProblem(FormProblemKind.DISPATCH_BODY_TYPE, pair.value, key))
    return tuple(bodies)


def _formulas(pairs: list[Pair], problems: list[FormProblem]) -> tuple[tuple[Scalar, YamlNode], ...]:
    formulas = []
    for key, value in pairs:
        assert isinstance(key, Scalar)
        if not (isinstance(value, Scalar) and value.kind == "str"):
            problems.append(FormProblem(FormProblemKind.FORMULA_TYPE, value, key.value))
        formulas.append((key, value))
    return tuple(formulas)


_FALSE_WORDS = {"false", "no", "off"}


def _truth(scalar: Scalar) -> bool | None:
    """The truth value of a YAML scalar in Python, or None for a string."""
    if scalar.kind == "bool":
        return scalar.value.lower() not in _FALSE_WORDS
    if scalar.kind == "null":
        return False
    if scalar.kind in ("int", "float"):
        return any(digit in "123456789" for digit in scalar.value)
    return None


def _read_output_differentiability(
    pair: Pair, beside_dispatch: bool, problems: list[FormProblem]
) -> OutputDifferentiability:
    key, node = pair.key, pair.value
    assert isinstance(key, Scalar)

    def wrong(kind: FormProblemKind, where: YamlNode) -> OutputDifferentiability:
        problems.append(FormProblem(kind, where, key.value))
        return OutputDifferentiability(key, node, None, None)

    if isinstance(node, Mapping):
        return wrong(FormProblemKind.OUTPUT_DIFFERENTIABILITY_TYPE, node)
    if isinstance(node, Scalar):
        if node.kind == "str":
            return wrong(FormProblemKind.OUTPUT_DIFFERENTIABILITY_STRING, node)
        if _truth(node) or beside_dispatch:
            return wrong(FormProblemKind.OUTPUT_DIFFERENTIABILITY_TYPE, node)
        return wrong(FormProblemKind.OUTPUT_DIFFERENTIABILITY_IGNORED, node)
    assert isinstance(node, Sequence)
    if not node.items:
        if beside_dispatch:
            return OutputDifferentiability(key, node, (), None)
        return wrong(FormProblemKind.OUTPUT_DIFFERENTIABILITY_IGNORED, node)
    values: list[bool] = []
    strings: list[str] = []
    odd: list[YamlNode] = []
    for item in node.items:
        truth = _truth(item) if isinstance(item, Scalar) else None
        if isinstance(item, Scalar) and item.kind == "str":
            strings.append(item.value)
        elif truth is None:
            return wrong(FormProblemKind.OUTPUT_DIFFERENTIABILITY_TYPE, item)
        else:
            values.append(truth)
            if isinstance(item, Scalar) and item.kind != "bool":
                odd.append(item)
    if strings:
        if len(node.items) != 1:
            return wrong(FormProblemKind.OUTPUT_DIFFERENTIABILITY_MIXED, node)
        return OutputDifferentiability(key, node, (True,), tuple(strings))
    problems.extend(FormProblem(FormProblemKind.OUTPUT_DIFFERENTIABILITY_VALUE, item, key.value) for item in odd)
    return OutputDifferentiability(key, node, tuple(values), None)
