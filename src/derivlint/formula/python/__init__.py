"""Formulas read as people write them who write Python all day: a mixture of Python and C++.

* ``parts.py``: the parts of such a text.
* ``words.py``: its tokens.
* ``reader.py``: the parser, and where to begin.
"""
