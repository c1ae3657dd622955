"""Suppressions: comments that hide findings, with their syntax, scopes and use."""
