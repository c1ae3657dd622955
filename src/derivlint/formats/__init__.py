"""Diagnostics and the model in the forms that people and programs read."""

from derivlint.formats.report import NotChecked, NotReached, Report

__all__ = ["NotChecked", "NotReached", "Report"]
