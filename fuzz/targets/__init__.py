"""The targets: each reads one kind of input the way derivlint does."""
