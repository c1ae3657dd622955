"""Large inputs: all that is read takes little time and memory for 64 KiB of anything."""

from __future__ import annotations

from fuzz.generators import large
from fuzz.target import Target
from fuzz.targets import checking, graphs, syntax

#: The bound is 2 s; a processor that others use as well is slower.
SECONDS = 4.0

TARGETS = (
    Target("large-file", 8.0, large.file_bytes, checking.check, SECONDS, is_costly=True),
    Target("large-formula", 2.0, large.formula_bytes, syntax.read_formula, SECONDS, is_costly=True),
    Target("large-schema", 1.0, large.schema_bytes, syntax.read_schema, SECONDS, is_costly=True),
    Target("large-header", 2.0, large.header_bytes, syntax.read_header, SECONDS, is_costly=True),
    Target("large-natives", 1.0, large.natives_bytes, syntax.read_natives, SECONDS, is_costly=True),
    Target("large-configuration", 1.0, large.configuration_bytes, syntax.read_configuration, SECONDS, is_costly=True),
    Target("large-graph", 1.0, large.graph_bytes, graphs.derive, SECONDS, is_costly=True),
)
