"""Reference definitions of operators and helpers, their interpreters, and derived facts."""
