"""The C++ that a model becomes. Consumes the facts of the model and adds none."""
