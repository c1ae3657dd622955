"""Running rules over a model, entry by entry, and again after an edit."""
