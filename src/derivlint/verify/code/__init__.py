"""The C++ and the Python that run formulas, and building them."""
