"""What a C++ compiler says: the shipped tables of types and names, and the check of formulas.

Begin with :mod:`derivlint.compiler.diagnostics`, which is ``derivlint check --compiler``: ``unit`` writes the C++ file,
``gxx`` runs the compiler, ``judge`` maps its messages back to formulas. ``relations`` and ``names`` make the tables
that :mod:`derivlint.cpp` ships; ``children`` and ``guard`` start processes.
"""
