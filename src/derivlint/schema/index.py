"""The bundled operator index: the facts of one release's native_functions.yaml in a fast-loading file.

An index is JSON with one function per line. Shared facts (variants, dispatch keys, tags and the rarer fields) are
stored once as a profile; a function has its schema, a profile number and its own facts.

An installed PyTorch ships its own native_functions.yaml; it is located without importing torch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import Struct

from derivlint.schema.native_function import AUTOGRAD_KEYS, DEFAULT_NAMESPACE, FUNCTION, NO_TAGS, NativeFunction
from derivlint.schema.natives import NativeFunctions
from derivlint.source import read_input

FORMAT = 4

_DATA = Path(__file__).parent / "data"
_NAME = re.compile(r"index-([0-9]+(?:\.[0-9]+)*)\.json")

#: The facts of a profile with their defaults, which are omitted in the file.
_SHARED: dict[str, Any] = {
    "namespace": DEFAULT_NAMESPACE,
    "variants": FUNCTION,
    "dispatch": None,
    "structured": False,
    "tags": NO_TAGS,
    "ufunc": False,
    "manual_kernel_registration": False,
    "manual_cpp_binding": False,
    "python_module": None,
    "category_override": None,
    "device_check": "ExactSame",
    "device_guard": True,
    "use_const_ref_for_mutable_tensors": False,
}

#: The facts stored per function, with their defaults.
_OWN: dict[str, Any] = {"structured_delegate": None, "autogen": (), "cpp_no_default_args": frozenset()}

#: Decoders from JSON values to fields of ``NativeFunction``.
_DECODE: dict[str, Any] = {
    "variants": frozenset,
    "dispatch": tuple,
    "tags": frozenset,
    "autogen": tuple,
    "cpp_no_default_args": frozenset,
}


class IndexFormatError(Exception):
    """The text is not an operator index of this format."""


def build_index(natives: NativeFunctions, version: str, declarations: Mapping[str, Any] | None) -> bytes:
    """Build the index of the written functions; deterministic."""
    head = {
        "format": FORMAT,
        "version": version,
        "autograd_keys": list(AUTOGRAD_KEYS),
        "known_tags": None if natives.known_tags is None else sorted(natives.known_tags),
        "declarations": declarations,
        "derivatives": natives.derivatives,
        "generator_lists": natives.generator_lists,
    }
    table = table_of(natives.written)
    return _rendered(head, map(_json, table["profiles"]), map(_json, table["functions"]))


def render_index(content: Mapping[str, Any]) -> bytes:
    """Render an index that was read as JSON."""
    head = {name: value for name, value in content.items() if name not in ("profiles", "functions")}
    return _rendered(head, map(_json, content["profiles"]), map(_json, content["functions"]))


def _rendered(head: Mapping[str, Any], profiles: Iterable[str], rows: Iterable[str]) -> bytes:
    parts = [f"{json.dumps(name)}:{_json(value)}" for name, value in head.items()]
    parts.append('"profiles":[\n' + ",\n".join(profiles) + "\n]")
    parts.append('"functions":[\n' + ",\n".join(rows) + "\n]")
    return ("{" + ",\n".join(parts) + "}\n").encode("ascii")


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def table_of(functions: Iterable[NativeFunction]) -> dict[str, list[Any]]:
    """Encode functions as JSON: "profiles", and "functions" with schemas, profile numbers and their own facts."""
    numbers: dict[str, int] = {}
    profiles: list[dict[str, Any]] = []
    rows: list[list[Any]] = []
    for function in functions:
        shared = _facts(function, _SHARED)
        number = numbers.setdefault(_json(shared), len(profiles))
        if number == len(profiles):
            profiles.append(shared)
        own = _facts(function, _OWN)
        rows.append([function.func_text, number, own] if own else [function.func_text, number])
    return {"profiles": profiles, "functions": rows}


def functions_of(table: Mapping[str, Any]) -> list[NativeFunction]:
    """Decode the functions of a table encoded by :func:`table_of`.

    Raises:
        IndexFormatError: the table has another form.
    """
    try:
        profiles = [_decoded(profile) for profile in table["profiles"]]
        return [
            NativeFunction(text, **profiles[profile], **(_decoded(own[0]) if own else {}))
            for text, profile, *own in table["functions"]
        ]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise IndexFormatError("not an operator index") from error


def _facts(function: NativeFunction, defaults: dict[str, Any]) -> dict[str, Any]:
    facts = {}
    for name, default in defaults.items():
        value = getattr(function, name)
        if value != default:
            facts[name] = sorted(value) if isinstance(value, frozenset) else value
    return facts


class IndexExtras(Struct, frozen=True):
    """The parts of an index other than its functions; the attributes are those of ``NativeFunctions``."""

    declarations: Mapping[str, Any] | None
    derivatives: Mapping[str, Sequence[str]] | None


def extras_beside(schemas: Container[str]) -> IndexExtras | None:
    """Return the other parts of the bundled index if all of its functions have one of these schemas, else None.

    Comparing schemas is faster than decoding functions.

    Args:
        schemas: the schemas as written, without namespaces.
    """
    content = index_content(index_bytes(available_versions()[-1]))
    if all(row[0] in schemas for row in content["functions"]):
        return IndexExtras(content["declarations"], content["derivatives"])
    return None


def read_index(data: bytes, origin: str) -> NativeFunctions:
    """The functions of an index.

    Args:
        data: the bytes of the index.
        origin: the name of the index in messages.

    Raises:
        IndexFormatError: the bytes are not an index of this format.
    """
    return natives_of(index_content(data), origin)


def index_content(data: bytes) -> dict[str, Any]:
    """Decode an index as JSON; only its format is checked.

    Raises:
        IndexFormatError: the bytes are not an index of this format.
    """
    try:
        content = json.loads(data)
        if content["format"] != FORMAT:
            raise IndexFormatError(f"the operator index has format {content['format']}, expected {FORMAT}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise IndexFormatError("not an operator index") from error
    return dict(content)


def natives_of(content: Mapping[str, Any], origin: str) -> NativeFunctions:
    """Decode the functions of an index that was read as JSON.

    Args:
        content: the result of :func:`index_content`.
        origin: the name of the index in messages.

    Raises:
        IndexFormatError: the content has another form.
    """
    try:
        return NativeFunctions(
            functions_of(content),
            version=content["version"],
            declarations=content["declarations"],
            autograd_keys=content["autograd_keys"],
            known_tags=content["known_tags"],
            derivatives=content["derivatives"],
            generator_lists=content["generator_lists"],
            origin=origin,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise IndexFormatError("not an operator index") from error


def _decoded(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: _DECODE[name](value) if name in _DECODE else value for name, value in facts.items()}


def index_name(version: str) -> str:
    """The file name of a release's index."""
    return f"index-{version}.json"


def available_versions() -> tuple[str, ...]:
    """The PyTorch releases with a bundled index, oldest first."""
    matches = [_NAME.fullmatch(path.name) for path in _DATA.iterdir()] if _DATA.is_dir() else []
    return tuple(sorted((m.group(1) for m in matches if m), key=lambda v: tuple(map(int, v.split(".")))))


def load_index(version: str | None = None) -> NativeFunctions:
    """The bundled index of a PyTorch release, by default of the newest one.

    Raises:
        LookupError: there is no index of that version; the message lists the available ones.
    """
    versions = available_versions()
    chosen = versions[-1] if version is None and versions else version
    if chosen not in versions:
        available = ", ".join(versions) or "none"
        raise LookupError(f'no operator index of PyTorch "{chosen}" is bundled, only of {available}')
    return read_index(index_bytes(chosen), f"the bundled operator index of PyTorch {chosen}")


def index_bytes(version: str) -> bytes:
    """The bytes of the bundled index of a release, one of :func:`available_versions`."""
    return (_DATA / index_name(version)).read_bytes()


_VERSION = re.compile(r"""^__version__\s*(?::[^=\n]*)?=\s*['"]([^'"]+)['"]""", re.MULTILINE)


class InstalledTorch(Struct, frozen=True):
    """The source files that an installed PyTorch ships.

    Attributes:
        version: its version, such as ``2.13.0+cpu``, or None if unknown.
        native_functions: the path of native_functions.yaml.
        tags: the path of tags.yaml, or None.
        derivatives: the path of derivatives.yaml, or None.
        functions_manual: the path of FunctionsManual.h, or None.
    """

    version: str | None
    native_functions: Path
    tags: Path | None
    derivatives: Path | None
    functions_manual: Path | None

    @property
    def release(self) -> str | None:
        """The version without its local part, ``2.13.0`` for ``2.13.0+cpu``."""
        return None if self.version is None else self.version.partition("+")[0]


def installed_torch() -> InstalledTorch | None:
    """The PyTorch that ``import torch`` would import; None if absent or without operator files."""
    torchgen = _folder("torchgen")
    if torchgen is None:
        return None
    native = torchgen / "packaged" / "ATen" / "native"
    functions = native / "native_functions.yaml"
    if not functions.is_file():
        return None
    torch = _folder("torch")
    return InstalledTorch(
        version=None if torch is None else _version(torch / "version.py"),
        native_functions=functions,
        tags=_existing(native / "tags.yaml"),
        derivatives=_existing(torchgen / "packaged" / "autograd" / "derivatives.yaml"),
        functions_manual=None
        if torch is None
        else _existing(torch / "include" / "torch" / "csrc" / "autograd" / "FunctionsManual.h"),
    )


def _folder(package: str) -> Path | None:
    try:
        spec: ModuleSpec | None = find_spec(package)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None


def _version(path: Path) -> str | None:
    try:
        match = _VERSION.search(read_input(path).decode(errors="replace"))
    except OSError:
        return None
    return match.group(1) if match else None
