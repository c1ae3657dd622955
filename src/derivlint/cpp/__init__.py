"""C++ types, declarations, lookup and overload resolution; independent of the entries of derivatives.yaml.

Begin with :mod:`derivlint.cpp.expressions.inference`, which types every node of an expression.

    cpp_type      canonical types, one object per type, compared by identity; ``types``: types as spelled
    canonical     canonical spellings, with the table of aliases
    declarations  the declarations of headers; ``stubs/*.h`` are written by hand
    library       all entities that can be named: operators, helpers, stubs, names known to the compiler
    lookup        unqualified and qualified names, as the using-directives of the generated files make them visible
    expressions   types of expressions: ``overloads`` (arity, templates, which argument does not match), ``conversion``
                  (ranks; braced lists, constants), ``operators`` (between types, from the table of relations)
    problem       the kinds of type problems

The unknown type is ``UNKNOWN``, which converts to everything and is never reported.
"""

from derivlint.cpp.bindings import Binding, cpp_arguments, parameter_type, return_names
from derivlint.cpp.types import argument_type, return_type, value_type

__all__ = [
    "Binding",
    "argument_type",
    "cpp_arguments",
    "parameter_type",
    "return_names",
    "return_type",
    "value_type",
]
