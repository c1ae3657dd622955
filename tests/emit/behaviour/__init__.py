"""Snippets whose behaviour is compared, and what describes it."""
