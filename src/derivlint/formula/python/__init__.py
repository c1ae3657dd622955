"""Texts that mix Python and C++, as people write them who write Python all day.

* ``parts.py``: the parts of such a text.
* ``words.py``: its tokens.
* ``reader.py``: the parser, and where to begin.
"""
