"""The C++ compiler, and the check of formulas by it.

The terms are the toolchain (``gxx``), a compiler with PyTorch's headers; the translation unit (``unit``); and the
refusal of an expression (``diagnostics``). Read :mod:`derivlint.compiler.diagnostics` first, which is ``derivlint check
--compiler``: ``unit`` writes the C++ file, ``gxx`` runs the compiler, ``messages`` parses its output, ``diagnostics``
maps messages to formulas. ``children`` starts processes, which begin in ``child``.
"""
