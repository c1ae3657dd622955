"""Forward-mode and reverse-mode differentiation of graphs."""
