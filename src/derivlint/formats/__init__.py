"""Output formats of findings, coverage and the model.

Read :mod:`derivlint.formats.registry` first, which lists the formats of ``check``; each is a function of a
:class:`~derivlint.formats.report.Report`. ``text`` renders excerpts, ``places`` converts columns to each consumer's
unit. ``machine`` holds JSON, SARIF and the other formats for programs; ``coverage`` prints coverage, ``rule_page``
a rule or an operator.
"""

from derivlint.formats.report import NotChecked, NotReached, Report

__all__ = ["NotChecked", "NotReached", "Report"]
