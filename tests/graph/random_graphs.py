"""Random graphs for hypothesis: chains of operators that are smooth where the values stay."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from tests.graph.situations import BINARY, UNARY


@st.composite
def programs(draw: st.DrawFn, max_steps: int = 6) -> str:
    """An expression over ``a`` and ``b`` with up to ``max_steps`` definitions; every step is damped to stay bounded."""
    steps = draw(st.integers(1, max_steps))
    known = ["a", "b"]
    lines = ["a0 = mul(a, 1.0)"]
    for number in range(steps):
        template = draw(st.sampled_from(UNARY + BINARY))
        x, y = draw(st.sampled_from(known)), draw(st.sampled_from(known))
        text = re.sub(r"\by\b", y, re.sub(r"\bx\b", x, template))
        lines.append(f"h{number} = mul(sigmoid({text}), 0.6)")
        known.append(f"h{number}")
    results = draw(st.lists(st.sampled_from(known[2:]), min_size=1, max_size=2))
    return "; ".join([*lines, ", ".join([*results, "add(a0, b)"][: len(results) + draw(st.integers(0, 1))])])
