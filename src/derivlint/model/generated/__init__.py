"""What the generated code makes of formulas: where it evaluates them, what it saves, and the types there."""
