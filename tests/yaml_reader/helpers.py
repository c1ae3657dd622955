"""What the tests of the YAML reader share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import Document, Mapping, Scalar, Sequence, YamlNode, read_yaml


def read(text: str, *, pure: bool = False) -> Document:
    return read_yaml(SourceFile("test.yaml", text), pure=pure)


def read_clean(text: str) -> YamlNode:
    """The root of a text without problems, which both parsers must read alike."""
    document = read(text)
    assert document.problems == ()
    assert document.root is not None
    assert dump(read(text, pure=True).root) == dump(document.root)
    return document.root


def value_of(text: str) -> Scalar:
    """The last value of a text that is a mapping."""
    root = read_clean(text)
    assert isinstance(root, Mapping)
    value = root.pairs[-1].value
    assert isinstance(value, Scalar)
    return value


def scalars(node: YamlNode | None) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from scalars(item)
    elif isinstance(node, Mapping):
        for key, value in node.pairs:
            yield from scalars(key)
            yield from scalars(value)


def dump(node: YamlNode | None, base: int = 0) -> Any:
    """Everything about a node as plain data, with its places in a text in which what it was read from begins there."""
    if isinstance(node, Scalar):
        return (node.value, node.style, node.kind, node.within.shift(base), node.tag)
    if isinstance(node, Sequence):
        return ("sequence", node.flow, node.within.shift(base), node.tag, [dump(item, base) for item in node.items])
    if isinstance(node, Mapping):
        pairs = [(dump(key, base), dump(value, base)) for key, value in node.pairs]
        return ("mapping", node.flow, node.within.shift(base), node.tag, pairs)
    return None


def pieces(text: str, scalar: Scalar) -> list[tuple[str, str]]:
    """Each decoded character of a scalar with the source that it comes from."""
    assert scalar.exact
    found = []
    for index, char in enumerate(scalar.value):
        span = scalar.range_of(index, index + 1)
        assert span.start == scalar.offset(index)
        found.append((char, text[span.start : span.end]))
    return found


def shown(text: str) -> list[tuple[str, str, str]]:
    """The problems of a text: kind, the source that is marked, message."""
    return [
        (problem.kind.value, text[problem.span.start : problem.span.end], problem.message)
        for problem in read(text).problems
    ]


def span_of(text: str, part: str) -> Span:
    """The place of a part that occurs once."""
    assert text.count(part) == 1
    start = text.index(part)
    return Span(start, start + len(part))
