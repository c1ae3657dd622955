"""The kernels under ``ADInplaceOrView``, which track views and count what is written in place."""

from derivlint.emit.inplace_or_view.kernel import InplaceOrViewKernel, inplace_or_view_kernels
from derivlint.emit.inplace_or_view.shard import inplace_or_view_source, variable_type_header

__all__ = [
    "InplaceOrViewKernel",
    "inplace_or_view_kernels",
    "inplace_or_view_source",
    "variable_type_header",
]
