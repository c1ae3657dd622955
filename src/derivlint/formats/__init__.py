"""Floor 7: diagnostics and the model in the forms that people and programs read."""

from derivlint.formats.report import Filter, Report

__all__ = ["Filter", "Report"]
