"""Python of a derivatives file: one ``torch.autograd.Function`` for every entry."""
