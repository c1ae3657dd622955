"""YAML as mappings, sequences and scalars with positions. Knows nothing about derivatives.

Begin with :mod:`derivlint.yaml_reader.reader`. ``lines`` reads items in plain style line by line, ``pure`` and
``syntax`` everything else; ``decode`` maps each character of a scalar to the file; ``rewrite`` edits scalars;
``pieces`` cuts a file into items for incremental checks.
"""

from derivlint.yaml_reader.nodes import Mapping, Pair, Scalar, Sequence, YamlNode
from derivlint.yaml_reader.problems import YamlProblem
from derivlint.yaml_reader.reader import Document, read_yaml

__all__ = ["Document", "Mapping", "Pair", "Scalar", "Sequence", "YamlNode", "YamlProblem", "read_yaml"]
