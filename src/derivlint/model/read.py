"""From YAML nodes to entries, without knowledge of operators.

Follows torchgen/packaged/autograd/load_derivatives.py, ``load_derivatives`` and the head of
``create_differentiability_info``, for what the keys of an entry mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from derivlint.formula import Call, Name, walk
from derivlint.model.entry import DispatchBody, Entry, KeyedFormula, KeyName, OutputDifferentiability, ShapeProblem
from derivlint.model.layout import PLAIN, Layout, detected_layout
from derivlint.model.versions import FileVersions, entry_versions, file_versions
from derivlint.schema import SchemaError, parse_schema
from derivlint.source import SourceFile
from derivlint.yaml_reader import Document, Mapping, Node, Pair, Scalar, Sequence, read_yaml

NAME = "name"
DISPATCH = "dispatch"
OUTPUT_DIFFERENTIABILITY = "output_differentiability"
DEFAULT = "Default"


def read_file(source: SourceFile) -> tuple[Entry, ...]:
    """The entries of a file, without knowledge of operators."""
    root = document_of(source).root
    return tuple(read_entries(root, detected_layout(root)))


@lru_cache(maxsize=1)
def document_of(source: SourceFile) -> Document:
    """The YAML of a file; that of the last one is kept, of which several things are asked in turn."""
    return read_yaml(source)


def entry_names(source: SourceFile) -> list[str]:
    """The names of a file's entries, which are schemas, as far as they are text."""
    root = document_of(source).root
    node = detected_layout(root).list_in(root)
    items = node.items if isinstance(node, Sequence) else ()
    values = (item.get(NAME) for item in items if isinstance(item, Mapping))
    return [value.value for value in values if isinstance(value, Scalar) and value.kind == "str"]


def called_functions(source: SourceFile) -> Iterator[tuple[str, int]]:
    """The functions that a file's formulas call, by their last names, with the number of arguments."""
    for line in (line for entry in read_file(source) for body in entry.bodies for line in body.lines):
        tree = line.formula.tree if line.text is not None else None
        for node in walk(tree) if tree is not None else ():
            if isinstance(node, Call) and isinstance(node.callee, Name):
                yield node.callee.parts[-1].identifier, len(node.args)


def read_entries(root: Node | None, layout: Layout = PLAIN) -> Iterator[Entry]:
    """The entries of a file's list."""
    node = layout.list_in(root)
    versions = file_versions(root, layout)
    if isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            yield read_entry(index, item, layout, versions)


def read_entry(index: int, node: Node, layout: Layout = PLAIN, versions: FileVersions | None = None) -> Entry:
    """One item of the list; whatever it is, an entry comes out."""
    entry = Entry(index, node)
    if versions is not None:
        value = node.get(layout.version) if isinstance(node, Mapping) and layout.version is not None else None
        entry.versions = entry_versions(value, versions)
    if not isinstance(node, Mapping):
        entry.problems.append(ShapeProblem("entry-type", node))
        return entry
    pairs = _first_of_each(node, entry, until=NAME)
    name = pairs.pop(NAME, None)
    if name is None:
        entry.problems.append(ShapeProblem("no-name", node))
        entry.misnamed = _misnamed(pairs)
        if entry.misnamed is not None:
            del pairs[entry.misnamed.value]
    elif isinstance(name.value, Scalar) and name.value.kind == "str":
        entry.name = name.value
    else:
        entry.problems.append(ShapeProblem("name-type", name.value))
    pairs = {key: pair for key, pair in pairs.items() if not layout.ignores(key)}
    differentiability = pairs.pop(OUTPUT_DIFFERENTIABILITY, None)
    dispatch = pairs.pop(DISPATCH, None)
    if differentiability is not None:
        entry.output_differentiability = _read_output_differentiability(entry, differentiability, dispatch is not None)
    if dispatch is None:
        body = DispatchBody(entry, DEFAULT, None)
        body.mapping = node
        body.lines = _read_lines(body, list(pairs.values()))
        entry.bodies = (body,)
        return entry
    entry.dispatch = dispatch.value
    assert isinstance(dispatch.key, Scalar)
    entry.dispatch_key_node = dispatch.key
    entry.beside_dispatch = tuple((pair.key, pair.value) for pair in pairs.values() if isinstance(pair.key, Scalar))
    entry.bodies = _read_dispatch(entry, dispatch.value)
    return entry


def _misnamed(pairs: dict[str, Pair]) -> Scalar | None:
    """The key whose value is a schema, such as the ``func`` of native_functions.yaml: no formula reads like one."""
    for pair in pairs.values():
        key, value = pair.key, pair.value
        if isinstance(key, Scalar) and isinstance(value, Scalar) and value.kind == "str":
            try:
                parse_schema(value.value)
            except SchemaError:
                continue
            return key
    return None


def _first_of_each(mapping: Mapping, entry: Entry, until: str | None = None) -> dict[str, Pair]:
    """The pairs by key; a repeated key is a fact of the YAML, and its first value counts.

    Behind a second ``until`` everything belongs to another entry, whose ``- `` is missing.
    """
    pairs: dict[str, Pair] = {}
    for pair in mapping.pairs:
        if isinstance(pair.key, Scalar) and pair.key.kind == "str":
            if pair.key.value == until and until in pairs:
                break
            pairs.setdefault(pair.key.value, pair)
        else:
            entry.problems.append(ShapeProblem("key-type", pair.key))
    return pairs


def _read_dispatch(entry: Entry, node: Node) -> tuple[DispatchBody, ...]:
    if not isinstance(node, Mapping):
        entry.problems.append(ShapeProblem("dispatch-type", node))
        return ()
    bodies = []
    for key, pair in _first_of_each(node, entry).items():
        assert isinstance(pair.key, Scalar)
        body = DispatchBody(entry, key, pair.key)
        bodies.append(body)
        if isinstance(pair.value, Mapping):
            body.mapping = pair.value
            body.lines = _read_lines(body, list(_first_of_each(pair.value, entry).values()))
        else:
            entry.problems.append(ShapeProblem("dispatch-body-type", pair.value, key))
    return tuple(bodies)


def _read_lines(body: DispatchBody, pairs: list[Pair]) -> tuple[KeyedFormula, ...]:
    lines = []
    for index, pair in enumerate(pairs):
        key = pair.key
        assert isinstance(key, Scalar)
        line = KeyedFormula(body, index, key, split_names(key), pair.value)
        if line.text is None:
            body.entry.problems.append(ShapeProblem("formula-type", pair.value, key.value))
        lines.append(line)
    return tuple(lines)


def split_names(key: Scalar) -> tuple[KeyName, ...]:
    """The names of a key such as ``self, other``, each with its place."""
    text = key.value
    names = []
    start = 0
    for piece in text.split(","):
        name = piece.strip()
        begin = start + len(piece) - len(piece.lstrip()) if name else start
        names.append(KeyName(name, key.span_of(begin, begin + len(name)) if name else key.span))
        start += len(piece) + 1
    return tuple(names)


_FALSE_WORDS = {"false", "no", "off"}


def _truth(scalar: Scalar) -> bool | None:
    """What a YAML scalar is as a truth value in Python, or None for a string."""
    if scalar.kind == "bool":
        return scalar.value.lower() not in _FALSE_WORDS
    if scalar.kind == "null":
        return False
    if scalar.kind in ("int", "float"):
        return any(digit in "123456789" for digit in scalar.value)
    return None


def _read_output_differentiability(entry: Entry, pair: Pair, beside_dispatch: bool) -> OutputDifferentiability:
    key, node = pair.key, pair.value
    assert isinstance(key, Scalar)

    def wrong(kind: str, where: Node) -> OutputDifferentiability:
        entry.problems.append(ShapeProblem(kind, where, key.value))
        return OutputDifferentiability(key, node, None, None)

    if isinstance(node, Mapping):
        return wrong("output-differentiability-type", node)
    if isinstance(node, Scalar):
        if node.kind == "str":
            return wrong("output-differentiability-string", node)
        if _truth(node) or beside_dispatch:
            return wrong("output-differentiability-type", node)
        return wrong("output-differentiability-ignored", node)
    assert isinstance(node, Sequence)
    if not node.items:
        if beside_dispatch:
            return OutputDifferentiability(key, node, (), None)
        return wrong("output-differentiability-ignored", node)
    values: list[bool] = []
    strings: list[str] = []
    odd: list[Node] = []
    for item in node.items:
        truth = _truth(item) if isinstance(item, Scalar) else None
        if isinstance(item, Scalar) and item.kind == "str":
            strings.append(item.value)
        elif truth is None:
            return wrong("output-differentiability-type", item)
        else:
            values.append(truth)
            if isinstance(item, Scalar) and item.kind != "bool":
                odd.append(item)
    if strings:
        if len(node.items) != 1:
            return wrong("output-differentiability-mixed", node)
        return OutputDifferentiability(key, node, (True,), tuple(strings))
    entry.problems.extend(ShapeProblem("output-differentiability-value", item, key.value) for item in odd)
    return OutputDifferentiability(key, node, tuple(values), None)
