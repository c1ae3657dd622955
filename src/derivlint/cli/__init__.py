"""Floor 7: the commands."""
