"""What formulas have that is Python, and how C++ writes it.

* ``typing.py``: the types of the alternatives.
* ``notations.py``: the notations that C++ does not have, by the kind of a part.
* ``calls.py``: keyword arguments by position.
* ``translation.py``: the translation of a formula, and where to begin.
"""
