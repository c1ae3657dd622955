"""Evaluation of formulas in half precision: every operation rounds its result.

* half (``values``): a rounded number with its exact shadow, which is computed without rounding.
* loss (``values``): the operation after which a number is far from its shadow, with the cause.
* operation (``values``): a function of numbers that rounds its result.
* evaluator (``evaluate``): reference definitions and formulas over such numbers.
* judgement (``judgement``): the formulas of an entry that lose their value, and at which inputs; begin here.
"""
