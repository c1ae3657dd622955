"""Texts that mix Python and C++, as people write them who write Python all day.

* ``parts.py``: the tokens and the parts of such a text.
* ``reader.py``: the parser, and where to begin.
"""
