"""Completion and signature help.

Terms: completion context and proposal (``context``), draft (``draft``): a model of the entry that is being written.
"""
