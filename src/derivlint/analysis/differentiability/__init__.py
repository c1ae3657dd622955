"""Whether operators can be differentiated, and formulas once more."""
