"""Fuzzing of everything that derivlint reads, and of every command that reads it.

``python -m fuzz campaign`` makes inputs by number from a seed, runs them and says what it found;
``python -m fuzz smoke`` runs the same inputs every time. What was found belongs into ``fuzz/corpus``, which the tests
replay.
"""
