"""How formulas depend on gradients, tangents and arguments, and what is wrong with that."""
