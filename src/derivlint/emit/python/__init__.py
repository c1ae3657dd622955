"""Python code for a derivatives file: a ``torch.autograd.Function`` for each entry."""
