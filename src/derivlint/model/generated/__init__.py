"""The generated code: which expressions it evaluates, which values it saves, and their types."""
