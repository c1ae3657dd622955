"""Checking formulas numerically against an installed PyTorch, which is not rebuilt.

Begin with :mod:`derivlint.verify.runner`. The terms are ``FunctionSpec`` (``code.functions``), a formula as a function
that is called with an operator's arguments; ``SamplePoint`` (``inputs.points``), the arguments at which it is checked;
``Failure`` (``comparison.failures``), a check that failed there; ``FindingVerdict`` (``comparison.verdicts``), the
comparison of a failure with the earlier version of the file; and ``SkipReason`` (``unchecked``).

    code          formulas as functions: ``wrappers`` in C++, ``translation`` in Python, without a compiler
    inputs        samples of PyTorch; ``sites`` are where formulas decide, ``regimes`` are inputs made for those places,
                  ``arguments`` those in arguments that are not tensors, and the states of arguments for coverage
    processes     a process with PyTorch that forks one for each operator, and one that records samples
    comparison    finite differences against formulas; backward against forward; second order; masks; ``installed``
                  where differences are not evidence, such as kinks; ``precision`` of elementwise formulas;
                  ``numeric`` undoes what formulas write to inputs
    outcome       results, and the arms of conditions, sides of masks and states of arguments that inputs reach
    base          the earlier version of the file; a formula of both versions is one function
    known         explanations of the findings in PyTorch's own file
    suggestions   candidates of ``derivlint suggest``, each run in its place
    findings      diagnostics at the formulas; ``reproduction`` writes a script that shows one with PyTorch alone, and
                  ``replay`` one that runs the formula of the file
"""
