"""What a reviewer wants to know of two versions of a derivatives file.

Begin with :mod:`derivlint.review.review`: it checks both versions, and has the entries compared
(:mod:`derivlint.review.entries`), and the C++ that is generated for the changed ones (:mod:`derivlint.review.code`).
:mod:`derivlint.review.page` prints the result.
"""

from derivlint.review.review import Review, Version, review

__all__ = ["Review", "Version", "review"]
