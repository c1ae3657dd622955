"""Draw graphs: DOT for Graphviz, and self-contained SVG."""

from __future__ import annotations

import json
from html import escape

from msgspec import Struct

from derivlint.graph.ir import CONSTANT, LIST, Graph, GraphNode, GraphValue, copy_graph, is_constant, unique_names
from derivlint.graph.passes import inline_linear_blocks
from derivlint.graph.syntax.printer import constant_text

ROW, COLUMN_GAP, CHARACTER, PADDING, HEIGHT = 64, 24, 7.2, 12, 34


class Box(Struct):
    """A box of a drawing.

    Attributes:
        label: its text.
        note: its origin; empty for parts of the input graph.
        kind: ``input``, ``node`` or ``output``.
        row: its row: below those of all its sources.
        sources: the boxes with arrows to it.
        x: its left edge, set by the layout.
    """

    label: str
    note: str
    kind: str
    row: int
    sources: list[int]
    x: float = 0.0

    @property
    def width(self) -> float:
        """The width."""
        return max(len(self.label), len(self.note) * 0.8) * CHARACTER + 2 * PADDING


def boxes_of(graph: Graph) -> list[Box]:
    """The boxes of a graph; constants are shown inside the nodes that use them."""
    flat, _ = copy_graph(graph)
    inline_linear_blocks(flat)
    names = unique_names(flat)
    boxes: list[Box] = []
    of: dict[GraphValue, int] = {}
    for value in flat.inputs:
        of[value] = len(boxes)
        boxes.append(Box(names[value], "", "input", 0, []))
    for node in flat.nodes:
        if all(map(is_constant, node.outputs)):
            continue
        sources = list(dict.fromkeys(of[value] for value in node.inputs if value in of))
        row = max((boxes[source].row for source in sources), default=-1) + 1
        for value in node.outputs:
            of[value] = len(boxes)
        note = ""
        if node.origin is not None:
            place = f"{node.origin.path.rpartition('/')[2]}:{node.origin.line} " if node.origin.path else ""
            note = f"{place}{node.origin.operator}{', ' if node.origin.key else ''}{node.origin.key}"
        boxes.append(Box(_label(node), note, "node", row, sources))
    for number, value in enumerate(flat.outputs):
        label = f"output {number}" if len(flat.outputs) > 1 else "output"
        source = of.get(value)
        row = 0 if source is None else boxes[source].row + 1
        boxes.append(Box(label, "", "output", row, [] if source is None else [source]))
    return boxes


def _label(node: GraphNode) -> str:
    """The operator, with its constant operands."""
    parts = []
    for value in node.inputs:
        if not is_constant(value):
            parts.append("·")
        elif value.node is not None and value.node.kind == LIST:
            inner = (item.node.attributes.get("value") if item.node is not None else None for item in value.node.inputs)
            parts.append(f"[{', '.join(map(constant_text, inner))}]")
        elif value.node is not None and value.node.kind == CONSTANT:
            parts.append(constant_text(value.node.attributes.get("value")))
    return f"{node.kind.rpartition('::')[2]}({', '.join(parts)})"


def dot(graph: Graph) -> str:
    """Render a graph in the DOT language."""
    lines = ["digraph derivative {", "  node [shape=box, fontname=monospace];"]
    for number, box in enumerate(boxes_of(graph)):
        label = json.dumps(f"{box.label}\n{box.note}" if box.note else box.label, ensure_ascii=False)
        shape = "" if box.kind == "node" else ", shape=ellipse"
        lines.append(f"  n{number} [label={label}{shape}];")
        lines += [f"  n{source} -> n{number};" for source in box.sources]
    return "\n".join([*lines, "}"]) + "\n"


def svg(graph: Graph) -> str:
    """Render a graph as SVG: rows in order of computation, each box with its entry."""
    boxes = boxes_of(graph)
    rows: dict[int, list[Box]] = {}
    for box in boxes:
        rows.setdefault(box.row, []).append(box)
    widths = {row: sum(box.width + COLUMN_GAP for box in held) for row, held in rows.items()}
    width = max(widths.values(), default=0) + COLUMN_GAP
    for row, held in rows.items():
        x = (width - widths[row] + COLUMN_GAP) / 2
        for box in held:
            box.x = x
            x += box.width + COLUMN_GAP
    height = (max(rows, default=0) + 1) * ROW + PADDING
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'width="{width:.0f}" height="{height}" font-family="monospace" text-anchor="middle">'
    ]
    for box in boxes:
        lines.extend(_edge(boxes[source], box) for source in box.sources)
    lines += [part for box in boxes for part in _drawn(box)]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _edge(source: Box, target: Box) -> str:
    x1, y1 = source.x + source.width / 2, source.row * ROW + PADDING + HEIGHT
    x2, y2 = target.x + target.width / 2, target.row * ROW + PADDING
    middle = (y1 + y2) / 2
    path = f"M{x1:.1f},{y1} C{x1:.1f},{middle} {x2:.1f},{middle} {x2:.1f},{y2}"
    return f'<path d="{path}" fill="none" stroke="#888"/>'


_COLORS = {"input": "#e3f0ff", "node": "#ffffff", "output": "#e7f7e3"}


def _drawn(box: Box) -> list[str]:
    top = box.row * ROW + PADDING
    middle = box.x + box.width / 2
    parts = [
        f'<rect x="{box.x:.1f}" y="{top}" width="{box.width:.1f}" height="{HEIGHT}" rx="5" '
        f'fill="{_COLORS[box.kind]}" stroke="#444"/>',
        f'<text x="{middle:.1f}" y="{top + (15 if box.note else 21)}" font-size="12">{escape(box.label)}</text>',
    ]
    if box.note:
        parts.append(
            f'<text x="{middle:.1f}" y="{top + 28}" font-size="9" fill="#666">{escape(box.note)}</text>',
        )
    return parts
