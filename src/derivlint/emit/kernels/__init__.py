"""The autograd kernels of operators, as PyTorch's ``VariableType`` has them."""

from derivlint.emit.kernels.kernel import SHIPPED_NAMESPACE, SHIPPED_NODES, Kernel, kernels, kernels_source

__all__ = ["SHIPPED_NAMESPACE", "SHIPPED_NODES", "Kernel", "kernels", "kernels_source"]
