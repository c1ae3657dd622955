"""The table of operators on small tensors that are not elementwise."""

from __future__ import annotations

from derivlint.analysis.scalar_evaluation.functions.table import Table

TABLE = Table()
operator, helper = TABLE.operator, TABLE.helper
