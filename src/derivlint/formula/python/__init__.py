"""Texts that mix Python and C++.

* ``parts.py``: the tokens and the parts of such a text.
* ``reader.py``: the parser, the first one to read.
"""
