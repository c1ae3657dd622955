"""The types of C++ expressions: :mod:`derivlint.cpp.expressions.inference` infers them."""
