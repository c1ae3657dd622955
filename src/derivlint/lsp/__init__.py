"""The language server. It reports to an editor what the command line reports, by the same checks.

Begin with :mod:`derivlint.lsp.server` (requests) and :mod:`derivlint.lsp.session` (open files and their checks).
``analysis`` is what is known about one text; ``features`` are functions of an analysis and a place, without protocol;
``edge`` converts between them, and ``transport`` is the protocol itself.
"""
