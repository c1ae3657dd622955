"""C++ and Python code that runs formulas, and its compilation."""
