"""Generated code: where it evaluates formulas, which values it saves, and their types."""
