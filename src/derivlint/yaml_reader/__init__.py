"""YAML as mappings, sequences and scalars with places. Knows nothing of derivatives."""

from derivlint.yaml_reader.nodes import Mapping, Node, Pair, Scalar, Sequence
from derivlint.yaml_reader.problems import YamlProblem
from derivlint.yaml_reader.reader import Document, read_yaml

__all__ = ["Document", "Mapping", "Node", "Pair", "Scalar", "Sequence", "YamlProblem", "read_yaml"]
