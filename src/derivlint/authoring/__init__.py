"""The files of a new operator: entry, declarations, function skeletons, and a test.

Read :mod:`derivlint.authoring.files` first, which implements ``derivlint new``. :mod:`derivlint.authoring.skeleton`
starts from
a schema, :mod:`derivlint.authoring.derivation` from an expression, with formulas derived by :mod:`derivlint.graph`.
"""
