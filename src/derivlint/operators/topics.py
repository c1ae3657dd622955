"""The operator lists in PyTorch's generators, with one topic for each list.

Lists differ in the kind of names: base names (``add`` for all overloads and forms), names in the C++ API (``add_out``),
the same with the overload (``dequantize_self``), or full names (``add.Tensor``).
"""

from __future__ import annotations

from collections.abc import Mapping

#: The module that registers decompositions for forward-mode AD.
DECOMPOSITIONS = "decompositions_for_jvp"

#: The topic of operators whose gradients are implemented for complex numbers.
COMPLEX = "complex"

#: The module and variable of the list for each topic.
TOPICS: Mapping[str, tuple[str, str]] = {
    # base names: complex outputs may require grad
    COMPLEX: ("gen_variable_type", "GRADIENT_IMPLEMENTED_FOR_COMPLEX"),
    # base or C++ names: no output requires grad
    "no-derivative": ("gen_variable_type", "DONT_REQUIRE_DERIVATIVE"),
    # C++ names: the storage of "self" is replaced, which invalidates the gradient accumulator
    "resets-accumulator": ("gen_variable_type", "RESET_GRAD_ACCUMULATOR"),
    # C++ names, with or without overload: checks of the generic kernel are omitted
    "other-impl-or-storage": ("gen_variable_type", "DONT_ENFORCE_SAME_TENSOR_IMPL_OR_STORAGE"),
    "shared-impl": ("gen_variable_type", "DONT_ENFORCE_TENSOR_IMPL_USE_COUNT"),
    "shared-storage": ("gen_variable_type", "DONT_ENFORCE_STORAGE_IMPL_USE_COUNT"),
    # names of in-place functions without the underscore: no reference operator
    "foreach-without-reference": ("gen_variable_type", "_foreach_ops_without_differentiability_info"),
    # C++ names: the autograd kernel is written by hand
    "manual-autograd": ("gen_trace_type", "MANUAL_AUTOGRAD"),
    # base names: the output is a view of an input
    "view": ("gen_inplace_or_view_type", "VIEW_FUNCTIONS"),
    # base names: a view, or composed of views
    "may-return-view": ("gen_inplace_or_view_type", "RETURNS_VIEWS_OF_INPUT"),
    # C++ names: as_strided cannot recreate the view
    "view-of-other-metadata": ("gen_inplace_or_view_type", "VIEW_FUNCTIONS_WITH_METADATA_CHANGE"),
    # names of entries: the node is not traceable
    "untraceable": ("gen_autograd_functions", "UNTRACEABLE_FUNCTIONS"),
}
#: The topic of operators that are decomposed in forward-mode AD; full names.
DECOMPOSED = "decomposed-for-tangents"
#: The topic of operators with an entry in derivatives.yaml; full names.
ENTRY = "entry"

#: The modules with lists.
MODULES = tuple(dict.fromkeys(module for module, _ in TOPICS.values()))

#: The paths of these modules in a checkout and in site-packages.
CHECKOUT_FILES = (*(f"tools/autograd/{module}.py" for module in MODULES), f"torch/_decomp/{DECOMPOSITIONS}.py")
INSTALLED_FILES = (
    *(f"torchgen/packaged/autograd/{module}.py" for module in MODULES),
    f"torch/_decomp/{DECOMPOSITIONS}.py",
)
