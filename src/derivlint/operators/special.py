"""Names with a fixed meaning: keyword-like helpers, methods, and the roles of helpers' parameters."""

from __future__ import annotations

from enum import Enum

from derivlint.formula.vocabulary import words

#: The helper that raises when the derivative is computed.
NOT_IMPLEMENTED = "not_implemented"
#: The raising helpers, for one tensor and for a list.
RAISING = frozenset({NOT_IMPLEMENTED, "not_implemented_list"})
#: The helper that saves a tensor only if another gradient needs it.
WRAP_OPT_IF = "wrap_opt_if"
#: The helper that takes the real part of a gradient, its second argument, if the input is real.
REAL_FROM_COMPLEX = "handle_r_to_c"
#: The helper that converts an optional tensor to a possibly undefined one.
TO_TENSOR = "toNonOptTensor"
#: The operator that selects elements by a condition.
WHERE = "where"
#: Methods whose result has the dtype that their argument names.
CASTING = words("to type_as")
#: The method that copies a tensor into a memory format.
CONTIGUOUS = "contiguous"
#: Methods and operators that detach: they return the tensor or its value without gradient.
CUTTING = words("data detach item variable_data")
#: Methods that read metadata, for receivers of any type.
METADATA_MEMBERS = words("""
    sizes sym_sizes size sym_size strides sym_strides stride sym_stride dim ndimension numel sym_numel options
    scalar_type dtype device layout is_complex is_floating_point is_contiguous suggest_memory_format defined has_value
    requires_grad is_cuda is_sparse is_mkldnn is_quantized is_nested get_device is_conj is_neg sparse_dim dense_dim
    _nnz _nested_tensor_size _nested_tensor_strides is_same_size storage_offset sym_storage_offset names key_set
""")

#: Those among them that read the sizes, the layout or the device.
SIZE_MEMBERS = words("sizes sym_sizes size sym_size dim ndimension numel sym_numel layout device")

#: The suffixes of primals and of tangents.
PRIMAL = "_p"
TANGENT = "_t"
_FLAGS = ("grad_input_mask", "grad_mode", "grad_scale")


class ParameterRole(Enum):
    """The role of a parameter."""

    GRADIENT = "gradient"
    TANGENT = "tangent"
    PRIMAL = "primal"
    OTHER = "other"

    @property
    def is_seed(self) -> bool:
        """Whether functions are linear in the parameter."""
        return self in (ParameterRole.GRADIENT, ParameterRole.TANGENT)


def role_of_name(name: str) -> ParameterRole:
    """The role of a tensor parameter, guessed from its name."""
    if not name or name in _FLAGS:
        return ParameterRole.OTHER
    if name.endswith(TANGENT) or name == "fw_grad" or (name[0] == "d" and name[1:2].isupper()):
        return ParameterRole.TANGENT
    if name.endswith(PRIMAL):
        return ParameterRole.PRIMAL
    if name.startswith(("grad", "gg")) or (name[0] == "g" and (name[1:2].isupper() or name in ("gy", "gx", "gw"))):
        return ParameterRole.GRADIENT
    return ParameterRole.OTHER
