"""Facts about single operators that stand in PyTorch's generator and not in its YAML files."""

from __future__ import annotations

from derivlint.formula.vocabulary import words

#: C++ names of views whose dtype or structure is not that of their base, so that ``as_strided`` never recreates them
#: (gen_inplace_or_view_type.py).
WITH_METADATA_CHANGE = words("""
    view_as_complex view_as_real _conj _neg_view
    _nested_get_values _nested_view_from_buffer _nested_view_from_jagged
""")
