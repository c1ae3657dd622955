"""The C++ compiler, and the check of formulas by it.

The terms are the toolchain (``gxx``), a compiler with PyTorch's headers; the translation unit (``unit``); and the
refusal of an expression (``judge``). Begin with :mod:`derivlint.compiler.diagnostics`, which is ``derivlint check
--compiler``: ``unit`` writes the C++ file, ``gxx`` runs the compiler, ``judge`` maps its messages back to formulas.
``children`` starts processes, which begin in ``child``.
"""
