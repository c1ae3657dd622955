"""A file of recorded inputs with random access by operator.

The file contains data only: a line with its format, the digest and length of the index, the index (JSON: the byte range
and the digest of each operator's inputs), and then the inputs of each operator, JSON followed by the bytes of the
tensors. Forked children read the same open file independently.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

from derivlint.source import open_input, replace_file

#: Argument lists by the name of an operator, ``add.Tensor``.
Inputs = Mapping[str, list[list[Any]]]

_MAGIC = b"derivlint recorded inputs 3\n"
#: The digest of the index, and its length.
_HEAD = struct.Struct("<32sQ")
#: The length of the JSON of an operator.
_LENGTH = struct.Struct("<Q")
#: The maximum size of an operator's inputs and of the index, in bytes; larger ones are not read.
_MAX_BYTES = 1 << 26
#: The maximum depth of nested lists: arguments, lists of tensors, and their encoding.
_MAX_DEPTH = 6
_DTYPES = ("float64", "float32", "complex128", "complex64", "int64", "int32", "int16", "int8", "uint8", "bool")
#: Types whose values are stored by their name in ``torch``.
_NAMED = ("dtype", "layout", "memory_format")


class DamagedError(Exception):
    """The contents of a file are damaged."""


def write_inputs(path: Path, inputs: Inputs) -> None:
    """Write inputs to a file, atomically.

    Raises:
        OSError: the file cannot be written.
    """
    index: dict[str, list[Any]] = {}
    parts: list[bytes] = []
    offset = 0
    for name, lists in inputs.items():
        data = _block(lists)
        index[name] = [offset, len(data), hashlib.sha256(data).hexdigest()]
        offset += len(data)
        parts.append(data)
    listed = json.dumps(index).encode()
    head = _HEAD.pack(hashlib.sha256(listed).digest(), len(listed))
    replace_file(path, b"".join((_MAGIC, head, listed, *parts)), mode=0o600)


class StoredInputs(Inputs):
    """The inputs in a file, read on demand.

    Args:
        path: a file of :func:`write_inputs`.

    Raises:
        OSError: the file cannot be read.
        DamagedError: the file was not written by that function, or was truncated.
    """

    def __init__(self, path: Path) -> None:
        self._stream = open_input(path)
        self._file = self._stream.fileno()
        beginning = os.pread(self._file, len(_MAGIC) + _HEAD.size, 0)
        if len(beginning) != len(_MAGIC) + _HEAD.size or not beginning.startswith(_MAGIC):
            raise DamagedError(f'"{path}" does not hold recorded inputs')
        digest, length = _HEAD.unpack(beginning[len(_MAGIC) :])
        data = self._read(len(beginning), length)
        if hashlib.sha256(data).digest() != digest:
            raise DamagedError(f'the index of "{path}" is damaged')
        self._index = _index_of(data)
        self._start = len(beginning) + length
        end = max((offset + size for offset, size, _ in self._index.values()), default=0)
        if os.fstat(self._file).st_size != self._start + end:
            raise DamagedError(f'"{path}" was cut off')

    def __getitem__(self, name: str) -> list[list[Any]]:
        data = self._data(name)
        lists = _lists(data)
        if not all(isinstance(values, list) for values in lists):
            raise DamagedError("the arguments are not a list")
        return lists

    def check(self) -> None:
        """Verify the digests of all inputs.

        Raises:
            DamagedError: a digest differs.
        """
        for name in self._index:
            self._data(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def __del__(self) -> None:
        if hasattr(self, "_stream"):
            self._stream.close()

    def _data(self, name: str) -> bytes:
        offset, length, digest = self._index[name]
        data = self._read(self._start + offset, length)
        if hashlib.sha256(data).hexdigest() != digest:
            raise DamagedError(f"the recorded inputs of {name} are damaged")
        return data

    def _read(self, offset: int, length: int) -> bytes:
        if length > _MAX_BYTES:
            raise DamagedError(f"{length} bytes are more than was recorded")
        data = os.pread(self._file, length, offset)
        if len(data) != length:
            raise DamagedError("the file was cut off")
        return data


def _index_of(data: bytes) -> dict[str, tuple[int, int, str]]:
    content = _parsed(data)
    if not isinstance(content, dict):
        raise DamagedError("the index is not an object")
    index: dict[str, tuple[int, int, str]] = {}
    for name, place in content.items():
        match place:
            case [int(offset), int(length), str(digest)] if offset >= 0 and length >= 0:
                index[name] = offset, length, digest
            case _:
                raise DamagedError(f"the index has no place for {name}")
    return index


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedError("invalid JSON") from error


def _block(lists: list[list[Any]]) -> bytes:
    """The inputs of an operator: the length of the JSON, the JSON, and the bytes of its tensors."""
    raw = bytearray()
    text = json.dumps([_packed(values, raw) for values in lists]).encode()
    return _LENGTH.pack(len(text)) + text + raw


def _packed(value: Any, raw: bytearray) -> Any:
    """Encode a value as JSON; other types are objects with one key, and bytes of tensors are appended to ``raw``."""
    import torch

    if isinstance(value, torch.Tensor):
        # strides are kept, so that non-contiguous inputs stay so
        flat = torch.empty(value.numel(), dtype=value.dtype)
        strides = value.stride()
        order = sorted(range(value.dim()), key=lambda axis: (-strides[axis], axis))
        flat.view([value.shape[axis] for axis in order]).copy_(value.permute(order))
        start = len(raw)
        if value.numel():
            raw += flat.view(torch.uint8).numpy().tobytes()
        return {"tensor": [_name(value.dtype), list(value.shape), order, start]}
    if isinstance(value, list):
        return [_packed(item, raw) for item in value]
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    for kind in _NAMED:
        if isinstance(value, getattr(torch, kind)):
            return {kind: _name(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{type(value).__name__} cannot be kept")


def _name(value: Any) -> str:
    return str(value).removeprefix("torch.")


def _lists(data: bytes) -> list[list[Any]]:
    if len(data) < _LENGTH.size:
        raise DamagedError("inputs without a length")
    (length,) = _LENGTH.unpack_from(data)
    text, raw = data[_LENGTH.size : _LENGTH.size + length], data[_LENGTH.size + length :]
    value = _unpacked(_parsed(text), raw, 0)
    if not isinstance(value, list):
        raise DamagedError("the inputs are not a list")
    return value


def _unpacked(value: Any, raw: bytes, depth: int) -> Any:
    import torch

    if depth > _MAX_DEPTH:
        raise DamagedError("lists too deep")
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [_unpacked(item, raw, depth + 1) for item in value]
        case {"tensor": [str(dtype), list(shape), list(order), int(start)]}:
            return _tensor(dtype, shape, order, start, raw)
        case {"complex": [int() | float() as real, int() | float() as imaginary]}:
            return complex(real, imaginary)
        case {"device": str(name)}:
            try:
                return torch.device(name)
            except RuntimeError as error:
                raise DamagedError("a device that does not exist") from error
        case {"dtype": str(name)} | {"layout": str(name)} | {"memory_format": str(name)}:
            (kind,) = value
            constant = getattr(torch, name, None)
            if isinstance(constant, getattr(torch, kind)):
                return constant
    raise DamagedError("a value of an unknown kind")


def _tensor(dtype: str, shape: list[Any], order: list[Any], start: int, raw: bytes) -> Any:
    import torch

    if dtype not in _DTYPES or not all(type(size) is int and 0 <= size <= _MAX_BYTES for size in shape):
        raise DamagedError("a tensor of an unknown type or shape")
    if not all(type(axis) is int for axis in order) or sorted(order) != list(range(len(shape))):
        raise DamagedError("a tensor whose axes are in no order")
    kind = getattr(torch, dtype)
    count = prod(shape)
    size = count * kind.itemsize
    if start < 0 or start + size > len(raw):
        raise DamagedError("a tensor without its numbers")
    made = torch.empty([shape[axis] for axis in order], dtype=kind) if not count else None
    if made is None:
        numbers = torch.frombuffer(bytearray(raw[start : start + size]), dtype=kind)
        made = numbers.view([shape[axis] for axis in order])
    return made.permute([order.index(axis) for axis in range(len(shape))])
