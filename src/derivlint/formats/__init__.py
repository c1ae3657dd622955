"""Floor 7: diagnostics and the model in the forms that people and programs read."""

from derivlint.formats.report import Report

__all__ = ["Report"]
