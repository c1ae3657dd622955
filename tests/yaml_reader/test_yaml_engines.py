"""The parser in C and the one in Python read alike; the real files are read as PyYAML reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from derivlint.source import SourceFile
from derivlint.yaml_reader import read_yaml
from tests.yaml_reader.helpers import dump, read, scalars

ODD = [
    "a: é\r\nb: 'é''x'\r\nc: |\r\n  xé\r\n  y\r\nd: z",
    "é: x\rb: y\x85c: z\u2028d: w",
    "a: &x !!str 1\nb: *x\n",
    "a: ! 12\nb: ! '12'\n",
    "a: !!int '1'\nb: !foo x\nc: !<bar> [x]\nd: !!map {a: b}\n",
    "- a:\tb\n- c\td\n- e\t# f\n",
    "-\ta: b\n",
    "- a: b\n\tc: d\n",
    "- ? a\n  : b\n- ? [c]\n  : d\n",
    "{a: b, ? c : d, e, 'f':g}\n",
    "[a: b, c, {}, []]\n",
    "- - - a\n  - b\n",
    "a:\n- b\n- c\nd: e\n",
    "a: >\n  b\n  c\n\n  d\n   e\n  f\n",
    "%YAML 1.2\n---\na: b\n...\n",
    "%TAG !e! tag:e,1:\n---\n- !e!x y\n",
    "%FOO x\n---\na\n",
    "a: 'x\n\n  y\n z'\n",
    'a: "x\\\n   y\\n \n z"\n',
    "a: |+\n  x\n\n\nb: >-\n  y\n  z\n\n",
    "a: |2\n    x\n   y\n",
    "&a b: c\n*a : d\n",
    "a: !!str\nb: &x\nc: *x",
    "- &a.b c\n",
    "- *a.b\n",
    "a:\n# c\n\nb:\n  # d\n",
    "- # c\n\n- \n-",
    "a: #x\n",
    "?\n",
    ": a\n",
    "a: --- \n",
    "a: x\u2028 y\x85 z\n",
    "a: 'x\u2028 y\x85 z'\n",
    "\ufeff---\na: b\n",
    "<<: {a: b}\n",
    "- [at::kFloat]\n- x\n",
    "a\nb\n  c\n",
    "- 'a' b\n- \"c\": d\n",
    "a: [x:y, a#b, #c\n]\n",
]


@pytest.mark.parametrize("text", ODD)
def test_both_parsers_give_the_same_nodes_and_problems(text: str) -> None:
    fast, pure = read(text), read(text, pure=True)
    assert dump(fast.root) == dump(pure.root)
    assert fast.problems == pure.problems


@pytest.mark.parametrize("name", ["autograd/derivatives.yaml", "ATen/native/tags.yaml"])
def test_both_parsers_read_the_real_file_alike(name: str, derivatives_path: Path) -> None:
    source = SourceFile.read(derivatives_path.parents[1] / name)
    fast, pure = read_yaml(source), read_yaml(source, pure=True)
    assert fast.problems == pure.problems == ()
    assert dump(fast.root) == dump(pure.root)


def pyyaml_scalars(node: yaml.Node) -> Iterator[tuple[str, str, int, int]]:
    """Value, kind and place of every scalar that PyYAML composes, in file order."""
    if isinstance(node, yaml.ScalarNode):
        yield node.value, node.tag.rpartition(":")[2], node.start_mark.index, node.end_mark.index
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from pyyaml_scalars(item)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from pyyaml_scalars(key)
            yield from pyyaml_scalars(value)


@pytest.mark.parametrize("name", ["autograd/derivatives.yaml", "ATen/native/native_functions.yaml"])
def test_every_scalar_of_the_real_files_is_that_of_pyyaml(name: str, derivatives_path: Path) -> None:
    source = SourceFile.read(derivatives_path.parents[1] / name)
    document = read_yaml(source)
    assert document.problems == ()
    expected = yaml.compose(source.text, Loader=yaml.CSafeLoader)
    assert expected is not None
    found = []
    for scalar in scalars(document.root):
        assert scalar.exact
        # The range of a block scalar ends with its text; PyYAML's goes on to the next line with text.
        end = scalar.end if scalar.style not in ("literal", "folded") else None
        found.append((scalar.value, scalar.kind, scalar.start, end))
    composed = list(pyyaml_scalars(expected))
    assert len(composed) == len(found) > 3000
    for mine, theirs in zip(found, composed, strict=True):
        assert mine == (*theirs[:3], theirs[3] if mine[3] is not None else None)


def test_every_character_of_the_real_file_has_its_place(derivatives_path: Path) -> None:
    source = SourceFile.read(derivatives_path)
    folded = 0
    for scalar in scalars(read_yaml(source).root):
        for index, char in enumerate(scalar.value):
            written = source.text[scalar.offset(index)]
            if written != char:
                assert (char, written) == (" ", "\n")
                folded += 1
    assert folded > 10
