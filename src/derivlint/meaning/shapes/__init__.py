"""Formulas evaluated over the sizes of tensors: whether operands fit, and whether gradients fit inputs."""
