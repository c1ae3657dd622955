"""What the text of a translated formula mentions besides its variables."""

from __future__ import annotations

import math
from typing import Any

import torch


def namespace() -> dict[str, Any]:
    """The globals to evaluate a translated formula with: ``torch``, ``math``, ``aten`` and ``F``."""
    from derivlint import functional

    return {"torch": torch, "math": math, "aten": torch.ops.aten, "F": functional}
