"""Parsing of texts that mix Python and C++.

* ``parts.py``: the tokens and the tree of such a text.
* ``reader.py``: the parser; begin there.
"""
