"""Reference definitions of operators and helpers, their interpretation, and derived facts."""
