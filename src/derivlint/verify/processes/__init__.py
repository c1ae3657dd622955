"""The processes that record inputs and run formulas, and what is kept of their results."""
