"""Checking formulas numerically against an installed PyTorch, which is not rebuilt.

Begin with :mod:`derivlint.verify.runner`.

    functions     the formulas of an entry, with the variables of the generated code
    unit          one C++ unit with a function for each formula; ``headers`` are its includes
    translation   the same in Python, without a compiler
    record        inputs of PyTorch's own samples; ``recipes`` and ``hardening`` add more
    server        a process with PyTorch that forks one for each operator
    checks        finite differences against formulas; backward against forward; second order; masks
    installed     points where differences do not tell, such as kinks: what the installed PyTorch computes
    deviations    expected findings in a release's own file
    findings      diagnostics at the formulas
"""
