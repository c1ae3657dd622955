"""Writes the table of the OpInfos from which each operator's inputs are recorded.

Run it with the newest supported PyTorch installed: ``python -m tools.sample_sources``. It runs all OpInfos, which takes
a minute.
"""

from __future__ import annotations

from typing import Any

import torch

from derivlint.verify.inputs.samples import PATH, Recording, op_infos, record, stem, table_text


class AttributedRecording(Recording):
    """A recording that collects, for each stem of operators, the OpInfos that add inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: dict[str, dict[str, None]] = {}
        self.infos = [info.full_name for info in op_infos()]

    def add(self, name: str, values: list[Any]) -> None:
        """Record arguments, and their OpInfo if they are new."""
        count = len(self.inputs.get(name, ()))
        super().add(name, values)
        if len(self.inputs.get(name, ())) > count:
            self.sources.setdefault(stem(name.partition(".")[0]), {})[self.infos[self.done]] = None


def main() -> None:
    """Write the table."""
    sources: dict[str, dict[str, None]] = {}
    names = {schema.name.removeprefix("aten::") for schema in torch._C._jit_get_all_schemas()}
    for dtype in ("float64", "complex128"):
        recording = AttributedRecording()
        record(dtype, names, recording, lambda number, count: None)
        for operator, infos in recording.sources.items():
            sources.setdefault(operator, {}).update(infos)
    PATH.write_text(table_text(torch.__version__.partition("+")[0], sources), encoding="utf-8")


if __name__ == "__main__":
    main()
