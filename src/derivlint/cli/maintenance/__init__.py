"""Commands for derivlint's own developers: new rules, indexes, and releases of PyTorch."""
