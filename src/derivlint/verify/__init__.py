"""Checking formulas numerically against an installed PyTorch, which is not rebuilt.

Begin with :mod:`derivlint.verify.runner`.

    functions     the formulas of an entry, with the variables of the generated code
    unit          one C++ unit with a function for each formula; ``headers`` are its includes
    translation   the same in Python, without a compiler
    record        inputs of PyTorch's own samples; ``recipes`` and ``hardening`` add more
    sites         where formulas decide: conditions, masks and bounds in their trees
    regimes       inputs of special kinds, made for those places and for the arguments
    server        a process with PyTorch that forks one for each operator
    checks        finite differences against formulas; backward against forward; second order; masks
    installed     points where differences do not tell, such as kinks: what the installed PyTorch computes
    coverage      what inputs reached of formulas
    precision     elementwise formulas with few bits against double precision
    base          the earlier version of the file; a formula that both versions have is one function
    verdicts      new, as before, gone: what is found in both versions, input by input
    known         what is known about findings in PyTorch's own file, as prose for reports
    findings      diagnostics at the formulas
"""
