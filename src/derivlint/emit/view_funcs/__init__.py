"""The view functions of operators, as PyTorch's ``ViewFuncs.h`` has them: each makes a view again, of another base."""

from derivlint.emit.view_funcs.view_func import (
    HEADER,
    SHIPPED_NAMESPACE,
    ViewFunc,
    ViewFuncMember,
    view_funcs,
    view_funcs_header,
    view_funcs_source,
)

__all__ = [
    "HEADER",
    "SHIPPED_NAMESPACE",
    "ViewFunc",
    "ViewFuncMember",
    "view_funcs",
    "view_funcs_header",
    "view_funcs_source",
]
