"""Notations of Python in formulas, and their translation to C++.

* notation (``notations``): a construct of Python that C++ lacks, with templates of C++.
* part (``formula.python``): a node of a text that mixes Python and C++.
* option (``translation``): one way to write a part in C++; options are ranked by their type problems.
* slip (``translation``): a notation with its translation; begin with ``python_slips``.
* typing (``typing``): types of expressions in the place of a formula.
* positional call (``calls``): keyword arguments by the positions of parameters.
"""
