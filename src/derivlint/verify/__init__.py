"""Checks formulas numerically against an installed PyTorch, without rebuilding it.

Begin with :mod:`derivlint.verify.runner`. The terms are ``FunctionSpec`` (``code.functions``), a formula as a callable
function; ``SamplePoint`` (``inputs.points``), the arguments at which it is checked; ``Failure``
(``comparison.failures``), a check that failed there; ``FindingVerdict`` (``comparison.verdicts``), the comparison of a
failure with the earlier version of the file; and ``SkipReason`` (``unchecked``).

    code          formulas as functions: ``wrappers`` in C++, ``translation`` in Python, without a compiler
    inputs        samples of PyTorch; ``sites`` finds the branches of formulas, ``regimes`` makes inputs for them,
                  ``arguments`` those in non-tensor arguments, and the states of arguments for coverage
    processes     a process with PyTorch that forks one for each operator, and one that records samples
    comparison    finite differences against formulas; backward against forward; second order; masks; ``installed``
                  where differences prove nothing, such as kinks; ``precision`` of elementwise formulas;
                  ``numeric`` undoes writes of formulas to inputs
    outcome       results, and the coverage of branches, masks and states of arguments
    base          the earlier version of the file; a formula of both versions is one function
    known         explanations of the findings in PyTorch's own file
    findings      diagnostics at the formulas; ``reproduction`` writes a script that shows one with PyTorch alone, and
                  ``replay`` one that runs the formula of the file
"""
