"""Textual and graphical forms of graphs."""
