"""Checking formulas numerically against an installed PyTorch, which is not rebuilt.

Begin with :mod:`derivlint.verify.runner`.

    code          formulas as functions: ``unit`` in C++, ``translation`` in Python, without a compiler
    inputs        samples of PyTorch; ``sites`` are where formulas decide, ``regimes`` are inputs made for those places
    processes     a process with PyTorch that forks one for each operator, and one that records samples
    comparison    finite differences against formulas; backward against forward; second order; masks; ``installed``
                  where differences are not evidence, such as kinks; ``precision`` of elementwise formulas;
                  ``untouched`` inputs, whatever formulas write to them
    coverage      what inputs reached of formulas
    base          the earlier version of the file; a formula that both versions have is one function
    known         what is known about findings in PyTorch's own file, as prose for reports
    findings      diagnostics at the formulas
"""
