"""The YAML of an entry: nodes with offsets relative to the entry's text.

Malformed parts are recorded as :class:`FormProblem`.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from derivlint.yaml_reader import Mapping, Scalar, Sequence, YamlNode

if TYPE_CHECKING:
    from derivlint.schema.versions import EntryVersions


class FormProblemKind(Enum):
    """The kinds of malformed entries."""

    ENTRY_TYPE = "entry-type"
    NO_NAME = "no-name"
    NAME_TYPE = "name-type"
    KEY_TYPE = "key-type"
    DISPATCH_TYPE = "dispatch-type"
    DISPATCH_BODY_TYPE = "dispatch-body-type"
    FORMULA_TYPE = "formula-type"
    OUTPUT_DIFFERENTIABILITY_TYPE = "output-differentiability-type"
    OUTPUT_DIFFERENTIABILITY_STRING = "output-differentiability-string"
    OUTPUT_DIFFERENTIABILITY_MIXED = "output-differentiability-mixed"
    OUTPUT_DIFFERENTIABILITY_VALUE = "output-differentiability-value"
    OUTPUT_DIFFERENTIABILITY_IGNORED = "output-differentiability-ignored"


class FormProblem(Struct, frozen=True):
    """A part of an entry's YAML with the wrong form.

    Attributes:
        kind: the violated requirement.
        node: the malformed YAML node.
        key: the text of its key, if any.
    """

    kind: FormProblemKind
    node: YamlNode
    key: str | None = None


class KeyName(Struct, frozen=True):
    """A name in a key such as ``self, other``.

    Attributes:
        text: the name without surrounding blanks; empty after a stray comma.
        start: offset of its first character in the key's text.
        end: offset after its last one.
    """

    text: str
    start: int
    end: int


@lru_cache(maxsize=1024)
def split_names(key: str) -> tuple[KeyName, ...]:
    """The names of a key such as ``self, other``."""
    names = []
    start = 0
    for piece in key.split(","):
        name = piece.strip()
        begin = start + len(piece) - len(piece.lstrip()) if name else start
        names.append(KeyName(name, begin, begin + len(name)))
        start += len(piece) + 1
    return tuple(names)


class BodySyntax(Struct, frozen=True):
    """The YAML of the formulas under one dispatch key.

    Attributes:
        key: the dispatch key; ``Default`` for an entry without ``dispatch``.
        key_node: the YAML key, or None for an entry without ``dispatch``.
        mapping: the mapping of formulas, or None if the value is not a mapping.
        pairs: the keys with their formulas.
    """

    key: str
    key_node: Scalar | None
    mapping: Mapping | None
    pairs: tuple[tuple[Scalar, YamlNode], ...] = ()


class OutputDifferentiability(Struct, frozen=True):
    """The value of ``output_differentiability``.

    Attributes:
        key: the YAML key.
        node: the YAML value.
        values: one boolean for each output, read as torchgen does; None for a value that counts as absent.
        conditions: the C++ condition, for a list of one string.
    """

    key: Scalar
    node: YamlNode
    values: tuple[bool, ...] | None
    conditions: tuple[str, ...] | None

    def value_node(self, index: int) -> YamlNode:
        """The YAML node of the value for one output; the whole node if it is not a list or too short."""
        if isinstance(self.node, Sequence) and index < len(self.node.items):
            return self.node.items[index]
        return self.node

    @property
    def condition(self) -> Scalar | None:
        """The YAML scalar of the condition, or None."""
        if self.conditions is None or not isinstance(self.node, Sequence):
            return None
        node = self.node.items[0]
        return node if isinstance(node, Scalar) else None


class EntrySyntax(Struct, frozen=True):
    """The parts of an entry in YAML.

    Attributes:
        name: the scalar with the schema, or None.
        bodies: its formulas, grouped by dispatch key.
        dispatch: the YAML value of ``dispatch``, or None.
        dispatch_key_node: the key ``dispatch`` itself.
        beside_dispatch: the pairs on the level of ``dispatch``, which torchgen ignores.
        output_differentiability: its value, or None.
        problems: its malformed parts.
        misnamed: the key of the first value that is a schema, in an entry without ``name``.
        versions: the versions to which it applies; None in a file without versions.
    """

    name: Scalar | None = None
    bodies: tuple[BodySyntax, ...] = ()
    dispatch: YamlNode | None = None
    dispatch_key_node: Scalar | None = None
    beside_dispatch: tuple[tuple[Scalar, YamlNode], ...] = ()
    output_differentiability: OutputDifferentiability | None = None
    problems: tuple[FormProblem, ...] = ()
    misnamed: Scalar | None = None
    versions: EntryVersions | None = None
