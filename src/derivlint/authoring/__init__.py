"""What a new operator needs: its entry, its declarations, skeletons of its functions, and a test.

:mod:`derivlint.authoring.skeleton` makes them of a schema, :mod:`derivlint.authoring.derivation` of an expression that
the operator computes, with formulas that :mod:`derivlint.graph` derives; :mod:`derivlint.authoring.files` puts them
together.
"""
