"""YAML as mappings, sequences and scalars with positions; independent of derivatives.

node
    A mapping, sequence or scalar with its range in the text of its item (``nodes``, built by ``build``).
item
    An item of a top-level list, read on its own (``split``), so that edits elsewhere do not change its nodes.
decode map
    The source range of each decoded character of a scalar (``decode``); ``rewrite`` edits scalars with it.
problem
    An error in the YAML, explained for authors of formulas (``nodes``, ``syntax``).

Begin with :mod:`derivlint.yaml_reader.reader`. ``pure`` reads texts that the C parser rejects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from derivlint.source.lazy import lazy_exports

if TYPE_CHECKING:
    from derivlint.yaml_reader.nodes import Mapping, Pair, Scalar, Sequence, YamlNode, YamlProblem
    from derivlint.yaml_reader.reader import Document, PlacedNode, read_yaml

# a cached check imports nothing but the nodes
__getattr__ = lazy_exports(
    __name__,
    {
        "nodes": "Mapping Pair Scalar Sequence YamlNode YamlProblem",
        "reader": "Document PlacedNode read_yaml",
    },
)

__all__ = ["Document", "Mapping", "Pair", "PlacedNode", "Scalar", "Sequence", "YamlNode", "YamlProblem", "read_yaml"]
