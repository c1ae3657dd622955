"""What formulas pass to the functions that they call, and what they leave out."""
