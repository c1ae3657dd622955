"""The files of a new operator: entry, declarations, function skeletons, and a test.

Read :mod:`derivlint.authoring.files` first, which implements ``derivlint new``. ``skeleton`` starts from a schema,
``derivation`` from an expression, with formulas derived by :mod:`derivlint.graph`, simplified with ``shapes`` and
printed by ``cxx``. ``opinfo`` is the template of the test.
"""
