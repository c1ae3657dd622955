"""Declarations in C++ headers; read by :mod:`derivlint.cpp.declarations.header`."""
