"""Evaluation of formulas in half precision: every operation rounds its result, next to what it would give exactly.

A number carries what it would be without rounding, and the operation after which it no longer is near that. Begin with
``judgement``; ``values`` says what is lost, ``domain`` and ``evaluate`` run definitions and formulas over such numbers.
"""
