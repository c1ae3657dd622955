"""Inference of the types of C++ expressions: :mod:`derivlint.cpp.expressions.inference`."""
