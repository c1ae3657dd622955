"""YAML as mappings, sequences and scalars with positions. Knows nothing about derivatives.

Begin with :mod:`derivlint.yaml_reader.reader`. ``split`` cuts a file into items, which are read on their own; ``pure``
reads what the parser in C refuses, and ``syntax`` describes what is not YAML; ``decode`` maps each character of a
scalar to the file; ``rewrite`` edits scalars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from derivlint.source.lazy import lazy_exports

if TYPE_CHECKING:
    from derivlint.yaml_reader.nodes import Mapping, Pair, Scalar, Sequence, YamlNode
    from derivlint.yaml_reader.problems import YamlProblem
    from derivlint.yaml_reader.reader import Document, PlacedNode, read_yaml

# what is read from the cache needs the nodes at most
__getattr__ = lazy_exports(
    __name__,
    {
        "nodes": "Mapping Pair Scalar Sequence YamlNode",
        "problems": "YamlProblem",
        "reader": "Document PlacedNode read_yaml",
    },
)

__all__ = ["Document", "Mapping", "Pair", "PlacedNode", "Scalar", "Sequence", "YamlNode", "YamlProblem", "read_yaml"]
