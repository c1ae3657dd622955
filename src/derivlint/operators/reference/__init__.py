"""Reference definitions of operators and helpers, what interprets them, and what is derived from them."""
