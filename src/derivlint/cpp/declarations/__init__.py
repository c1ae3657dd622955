"""Declarations in C++ headers: :mod:`derivlint.cpp.declarations.header` reads them."""
