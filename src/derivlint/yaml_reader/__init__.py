"""YAML as mappings, sequences and scalars with positions. Knows nothing about derivatives.

node
    A mapping, sequence or scalar with its span in the text of its item (``nodes``, built by ``build``).
item
    A part of a plain list that is read on its own (``split``), so that edits elsewhere do not change its nodes.
decode map
    The span in the file of each character of a scalar (``decode``); ``rewrite`` edits scalars by it.
problem
    Text that is not YAML, in terms of formulas (``nodes``, ``syntax``).

Begin with :mod:`derivlint.yaml_reader.reader`. ``pure`` reads texts that the parser in C refuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from derivlint.source.lazy import lazy_exports

if TYPE_CHECKING:
    from derivlint.yaml_reader.nodes import Mapping, Pair, Scalar, Sequence, YamlNode, YamlProblem
    from derivlint.yaml_reader.reader import Document, PlacedNode, read_yaml

# what is read from the cache needs the nodes at most
__getattr__ = lazy_exports(
    __name__,
    {
        "nodes": "Mapping Pair Scalar Sequence YamlNode YamlProblem",
        "reader": "Document PlacedNode read_yaml",
    },
)

__all__ = ["Document", "Mapping", "Pair", "PlacedNode", "Scalar", "Sequence", "YamlNode", "YamlProblem", "read_yaml"]
