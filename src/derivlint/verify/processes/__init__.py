"""The processes that record inputs and run formulas, and the storage of their results."""
