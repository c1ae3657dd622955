"""The autograd kernels of operators, PyTorch's ``VariableType``."""

from derivlint.emit.kernels.kernel import SHIPPED_NAMESPACE, SHIPPED_NODES, Kernel, kernels, kernels_source

__all__ = ["SHIPPED_NAMESPACE", "SHIPPED_NODES", "Kernel", "kernels", "kernels_source"]
