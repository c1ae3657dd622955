"""What the bodies of helper functions say: FunctionsManual.cpp of a checkout.

Begin with :mod:`derivlint.bodies.reading`. ``following`` runs the statements of a body over sums of products of its
parameters, as :mod:`derivlint.operators.reference.derivation` does with definitions; ``expressions`` has what calls
mean, ``values`` the variables and what writing to them does. ``definedness`` says which tensors a body reads without
asking whether they are defined.
"""
