"""What is known of native functions is the same whether their file is read or comes from the cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from derivlint.project.caching.cache import sealed, unsealed
from derivlint.project.caching.functions_on_disk import read_functions
from derivlint.schema import NativeFunctions
from derivlint.schema.native_function import NativeFunction
from derivlint.source import SourceFile

TEXT = """\
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  structured_delegate: add.out
  variants: function, method
  tags: [core, pointwise]
  dispatch:
    SparseCPU, SparseCUDA: add_sparse

- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
  ufunc_inner_loop:
    Generic: add (AllAndComplex, BFloat16)

- func: mine::sum(Tensor self) -> Tensor
  autogen: sum.out
  cpp_no_default_args: ['self']
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def everything(natives: NativeFunctions) -> Any:
    """All that the file says, whatever was worked out of it so far."""
    names = NativeFunction.__struct_fields__
    functions = [{name: getattr(function, name) for name in names} for function in natives.written]
    problems = [(problem.message, problem.span) for problem in natives.problems]
    return functions, natives.known_tags, natives.autograd_keys, natives.origin, problems, natives.version


def known(text: str, tags: str | None = None, *, use_cache: bool = True) -> Any:
    known_tags = None if tags is None else SourceFile("tags.yaml", tags)
    return everything(read_functions([SourceFile("functions.yaml", text)], known_tags, {}, use_cache))


def kept(cache: Path) -> Any:
    (place,) = cache.glob("functions-*")
    return json.loads(unsealed(place.read_bytes()) or b"")


@pytest.mark.parametrize("tags", [None, "- tag: core\n- tag: pointwise\n", "[]"])
def test_functions_from_the_cache_are_those_of_the_file(cache: Path, tags: str | None) -> None:
    expected = known(TEXT, tags, use_cache=False)
    assert [known(TEXT, tags), known(TEXT, tags)] == [expected, expected]
    assert len(kept(cache)["functions"]) == 3


@pytest.mark.torch
def test_functions_of_pytorch_from_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not read a second time."""
    import torchgen

    folder = Path(torchgen.__file__).parent / "packaged/ATen/native"
    text, tags = ((folder / name).read_text(encoding="utf-8") for name in ("native_functions.yaml", "tags.yaml"))
    expected = known(text, tags, use_cache=False)
    assert known(text, tags) == expected
    monkeypatch.setattr("derivlint.schema.reader.read_yaml", None)
    assert known(text, tags) == expected
    assert len(expected[0]) > 2000


@pytest.mark.parametrize(
    "text",
    [
        # a problem is reported each time
        TEXT + "- func: sum(Tensor self) ->\n",
        TEXT + TEXT,
        # a back end's list of what it has kernels for
        f"official:\n{TEXT}",
        "- func: other(Tensor self) -> Tensor\n",
        "[]",
        "",
        "{",
    ],
)
def test_what_a_table_cannot_say_is_read(cache: Path, text: str) -> None:
    expected = known(text, use_cache=False)
    assert [known(text), known(text)] == [expected, expected]


@pytest.mark.parametrize(
    "change",
    [
        {"functions": [["add(Tensor self) -> Tensor", 0]] * 3}, {"functions": [[1, 0]] * 3},
        {"functions": [["add", 9]] * 3}, {"profiles": [{"unknown": 1}] * 3}, {"places": [[0, 5]] * 3},
        {"places": [[0, 10**9]] * 3}, {"places": []}, {"places": [["a", "b"]]}, {"tags": [1]},
    ],
    ids=str,
)  # fmt: skip
def test_what_someone_else_has_put_there_is_not_taken(cache: Path, change: dict[str, Any]) -> None:
    expected = known(TEXT)
    (place,) = cache.glob("functions-*")
    place.write_bytes(sealed(json.dumps({**kept(cache), **change}).encode()))
    assert known(TEXT) == expected
