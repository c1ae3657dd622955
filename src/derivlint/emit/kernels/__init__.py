"""The autograd kernels of operators, as PyTorch's ``VariableType`` has them."""

from derivlint.emit.kernels.kernel import Kernel, kernels
from derivlint.emit.kernels.shard import SHIPPED_NAMESPACE, SHIPPED_NODES, kernels_source

__all__ = ["SHIPPED_NAMESPACE", "SHIPPED_NODES", "Kernel", "kernels", "kernels_source"]
