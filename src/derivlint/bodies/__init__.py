"""Symbolic execution of helper functions: FunctionsManual.cpp of a checkout.

Read :mod:`derivlint.bodies.reading` first. ``following`` runs the statements of a body over sums of products of its
parameters, as :mod:`derivlint.operators.reference.derivation` does with definitions; ``expressions`` evaluates calls,
``values`` has the state of variables and the effects of writing to them. ``reading`` also finds the tensors that a
body reads without testing whether they are defined.
"""
