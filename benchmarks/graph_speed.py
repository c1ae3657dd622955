"""Time to read and to differentiate graphs of growing size, which is to be linear in the number of nodes.

    python benchmarks/graph_speed.py [--nodes 1000 2000 5000 10000]

Times are of the processor. Needs the extra ``dev`` (torch, for its derivatives.yaml).
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from typing import TypeVar

from measuring import installed_files

from derivlint.graph.differentiation.entries import Entries
from derivlint.graph.differentiation.forward import jvp
from derivlint.graph.differentiation.reverse import differentiate
from derivlint.graph.syntax.printer import print_graph
from derivlint.graph.syntax.reader import read_graph
from derivlint.model import build_model
from derivlint.schema import read_native_functions
from derivlint.source import SourceFile

T = TypeVar("T")


def graph_text(nodes: int) -> str:
    """A chain of operators in which every third value is used twice."""
    lines = ["graph(%x : Tensor, %y : Tensor):", "  %v0 : Tensor = aten::mul(%x, %y)"]
    for number in range(1, nodes):
        last = f"%v{number - 1}"
        call = (f"mul({last}, %x)", f"sigmoid({last})", f"add({last}, %v{max(number - 3, 0)})")[number % 3]
        lines.append(f"  %v{number} : Tensor = aten::{call}")
    return "\n".join([*lines, f"  return (%v{nodes - 1})"])


def timed(work: Callable[[], T]) -> tuple[T, float]:
    # the collector looks at everything that lives each time, which is not linear
    gc.disable()
    start = time.process_time()
    result = work()
    seconds = time.process_time() - start
    gc.enable()
    return result, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 2000, 5000, 10000])
    arguments = parser.parse_args()
    files = installed_files()
    natives = read_native_functions([SourceFile.read(files.native_functions)], tags=SourceFile.read(files.tags))
    entries = Entries(build_model(SourceFile.read(files.derivatives), natives))
    differentiate(read_graph(graph_text(10)), entries)
    print("   nodes      read  differentiate   print   joined  forward   microseconds per node to differentiate")
    for nodes in arguments.nodes:
        text = graph_text(nodes)
        graph, reading = timed(lambda text=text: read_graph(text))  # type: ignore[misc]
        gradient, deriving = timed(lambda graph=graph: differentiate(graph, entries))  # type: ignore[misc]
        _, printing = timed(lambda gradient=gradient: print_graph(gradient.df))  # type: ignore[misc]
        _, joining = timed(gradient.joined)
        _, forward = timed(lambda graph=graph: jvp(graph, entries))  # type: ignore[misc]
        times = "".join(f"{seconds:9.2f}" for seconds in (reading, deriving, printing, joining, forward))
        print(f"{nodes:8}{times}{deriving / nodes * 1e6:12.0f}")


if __name__ == "__main__":
    main()
