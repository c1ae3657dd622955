"""Symbolic execution of helper functions, such as those of FunctionsManual.cpp.

Read :mod:`derivlint.bodies.reading` first. ``following`` executes the statements of a body over sums of products of its
parameters, as :mod:`derivlint.operators.reference.derivation` does with definitions; ``expressions`` evaluates calls,
``values`` has the state of variables and the effects of assignments. ``reading`` also finds tensors that a body reads
without a test whether they are defined. ``sizes`` computes result sizes by executing a body over sizes.
"""
