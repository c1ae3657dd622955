"""The commands that write code: ``emit`` and ``show``."""
