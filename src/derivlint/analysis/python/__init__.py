"""Python notation in formulas, and its translation to C++.

* notation (``notations``): a Python construct that C++ lacks, with C++ templates.
* part (``formula.python``): a node in the tree of a text that mixes Python and C++.
* option (``translation``): one way to write a part in C++; options are ranked by their type problems.
* slip (``translation``): a notation with its translation; begin with ``python_slips``.
* typing (``typing``): types of expressions in place of a formula.
* positional call (``calls``): keyword arguments by the positions of parameters.
"""
