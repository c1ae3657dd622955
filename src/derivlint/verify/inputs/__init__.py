"""The inputs that formulas are run on: from samples, from their syntax trees, and of special kinds."""
