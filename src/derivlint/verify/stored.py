"""Recorded inputs in a file from which those of one operator are read alone.

The file begins with the length of an index and the index: where the inputs of each operator stand. Children that were
forked read from the same open file without disturbing each other.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from derivlint.source import replace_file

#: Argument lists by the name of an operator, ``add.Tensor``.
Inputs = Mapping[str, list[list[Any]]]

_HEAD = 8
#: How a tensor is written: what it is, its type, its shape and the bytes of its elements.
_TENSOR = "tensor"
#: How a memory format is written, which cannot be written itself.
_FORMAT = "memory_format"


def write_inputs(path: Path, found: Inputs) -> None:
    """Write inputs to a file, as a whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    index: dict[str, tuple[int, int]] = {}
    parts = []
    offset = 0
    for name, lists in found.items():
        data = pickle.dumps([_packed(values) for values in lists], protocol=5)
        index[name] = (offset, len(data))
        offset += len(data)
        parts.append(data)
    head = pickle.dumps(index, protocol=5)
    replace_file(path, b"".join((len(head).to_bytes(_HEAD, "little"), head, *parts)))


class StoredInputs(Inputs):
    """The inputs in a file, read when they are asked for.

    Args:
        path: a file of :func:`write_inputs`; nobody else writes it.

    Raises:
        OSError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY)
        length = int.from_bytes(os.pread(self._file, _HEAD, 0), "little")
        self._index: dict[str, tuple[int, int]] = pickle.loads(os.pread(self._file, length, _HEAD))
        self._start = _HEAD + length

    def __getitem__(self, name: str) -> list[list[Any]]:
        offset, length = self._index[name]
        return [_unpacked(values) for values in pickle.loads(os.pread(self._file, length, self._start + offset))]

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)


def _packed(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        # strides are kept, so that inputs that are not contiguous stay so
        flat = torch.empty(value.numel(), dtype=value.dtype)
        strides = value.stride()
        order = sorted(range(value.dim()), key=lambda axis: (-strides[axis], axis))
        flat.view([value.shape[axis] for axis in order]).copy_(value.permute(order))
        data = flat.view(torch.uint8).numpy().tobytes() if value.numel() else b""
        return (_TENSOR, value.dtype, tuple(value.shape), order, data)
    if isinstance(value, torch.memory_format):
        return (_FORMAT, str(value).removeprefix("torch."))
    return [_packed(item) for item in value] if isinstance(value, list) else value


def _unpacked(value: Any) -> Any:
    import torch

    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    if not isinstance(value, tuple):
        return value
    if value[0] == _FORMAT:
        return getattr(torch, value[1])
    _, dtype, shape, order, data = value
    made = torch.empty([shape[axis] for axis in order], dtype=dtype)
    if data:
        made = torch.frombuffer(bytearray(data), dtype=dtype).view(made.shape)
    return made.permute([order.index(axis) for axis in range(len(shape))])
