"""The files of a new operator: entry, declarations, function skeletons, and a test.

Begin with :mod:`derivlint.authoring.files`, which is ``derivlint new``. :mod:`derivlint.authoring.skeleton` starts from
a schema, :mod:`derivlint.authoring.derivation` from an expression, with formulas derived by :mod:`derivlint.graph`.
"""
