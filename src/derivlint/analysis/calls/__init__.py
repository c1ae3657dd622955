"""Arguments of the calls in formulas: swapped, misplaced, omitted, or cast.

* argument mismatch (``argument_order``): an argument that is passed for another parameter.
* exchange (``swaps``): two arguments that make a wrong formula right when they are exchanged.
* dropped argument (``dropping``): an argument of the operator that its backward function is not passed.
* value computed for its sizes (``without_effect``): a call whose elements nothing uses.
* constant condition (``without_effect``): a comparison of a count that is the same for all tensors.
* fixed type (``fixed_types``): a cast to a type that the formula names.
* key order (``key_order``): the names of a key against the order of the gradients that are returned.
"""
