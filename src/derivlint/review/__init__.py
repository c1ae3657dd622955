"""A review of a change to a derivatives file: changed entries and their consequences.

Read :mod:`derivlint.review.review` first, which checks both versions and compares entries
(:mod:`derivlint.review.entries`) and their generated C++. :mod:`derivlint.review.page` formats the result.
"""

from derivlint.review.review import Review, Version, review

__all__ = ["Review", "Version", "review"]
