"""The indexes of several releases in one file, and what is bundled of PyTorch 2.1 to 2.15."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.operators import book, history
from derivlint.operators.detection import detected_release
from derivlint.operators.history import bundled_versions, load_release, read_history
from derivlint.operators.topics import DECOMPOSED, TOPICS
from derivlint.schema import IndexFormatError, NativeFunctions, load_index
from derivlint.schema.index import FORMAT, index_content
from tests.sampling import sample
from tools.bundling import BundleError, build_history, bundled_files

DATA = Path(history.__file__).parent / "data"
INDEX = Path(index_content.__code__.co_filename).parent / "data" / "index-2.13.0.json"

ROWS = st.permutations([f"f{number}(Tensor self) -> Tensor" for number in range(6)]).flatmap(
    lambda rows: st.sampled_from([rows[:count] for count in range(7)])
)
FACTS: st.SearchStrategy[object] = st.sampled_from(
    [None, {}, [], ["a"], {"x": {}}, {"x": ["a"]}, {"x": {"y": None}, "z": []}, {"x": {"y": ["b"]}}]
)


def index_of(version: str, rows: list[str], profile: dict[str, Any], facts: object) -> dict[str, Any]:
    return {
        "format": FORMAT, "version": version, "autograd_keys": ["AutogradCPU"], "known_tags": None,
        "declarations": facts, "derivatives": {}, "generator_lists": None, "profiles": [{"tags": ["unused"]}, profile],
        "functions": [[row, 1] for row in rows],
    }  # fmt: skip


def with_profiles(index: dict[str, Any]) -> list[Any]:
    """The functions of an index with their profiles, whose numbers mean nothing."""
    return [[text, index["profiles"][profile], *own] for text, profile, *own in index["functions"]]


@given(st.lists(st.tuples(ROWS, st.sampled_from(["a", "b"]), FACTS), min_size=1, max_size=6))
def test_every_release_is_read_as_it_was_written(releases: list[tuple[list[str], str, object]]) -> None:
    indexes = [
        index_of(f"2.{number}.0", rows, {"tags": [tag]}, facts) for number, (rows, tag, facts) in enumerate(releases)
    ]
    data = build_history(indexes)
    for index in indexes:
        found = read_history(data, index["version"])
        assert with_profiles(found) == with_profiles(index)
        apart = ("profiles", "functions")
        assert {name: found[name] for name in found if name not in apart} == {
            name: index[name] for name in index if name not in apart
        }


def test_what_releases_share_stands_once() -> None:
    rows = [f"operator{number}(Tensor self) -> Tensor" for number in range(200)]
    one = len(zlib.decompress(build_history([index_of("2.1.0", rows, {}, {"a": ["b"]})])))
    many = len(
        zlib.decompress(build_history([index_of(f"2.{number}.0", rows, {}, {"a": ["b"]}) for number in range(9)]))
    )
    assert many - one < 200


@pytest.mark.parametrize(
    "data", [b"", b"nonsense", zlib.compress(b"{}"), zlib.compress(b"[]"), zlib.compress(b'{"format":99}')]
)
def test_what_is_not_a_file_of_releases_is_refused(data: bytes) -> None:
    with pytest.raises(IndexFormatError):
        read_history(data, "2.13.0")


# ---- what is bundled


def test_the_bundled_releases_are_2_1_to_2_15() -> None:
    assert [version.rpartition(".")[0] for version in bundled_versions()] == [f"2.{minor}" for minor in range(1, 16)]


def test_the_history_has_the_index_of_the_default_release() -> None:
    expected = index_content(INDEX.read_bytes())
    found = read_history((DATA / history.HISTORY).read_bytes(), "2.13.0")
    assert with_profiles(found) == with_profiles(expected)
    for name in expected.keys() - {"profiles", "functions"}:
        assert found[name] == expected[name], name


@pytest.mark.parametrize("version", sample(bundled_versions(), 2))
def test_a_release_is_loaded(version: str) -> None:
    natives = load_release(version)
    assert natives.version == version
    assert natives.problems == ()
    assert len(natives.written) > 2500
    assert natives.origin == f"the bundled operator index of PyTorch {version}"
    assert natives.declarations is not None
    assert natives.derivatives is not None
    unknown = [name for name in natives.derivatives if natives.operator(name) is None]
    # an entry of PyTorch's file for a function that it does not have
    assert len(unknown) <= 1, unknown
    assert len([str(function.schema) for function in natives.functions]) > 3000


def test_operators_come_and_go() -> None:
    def has(version: str, name: str) -> bool:
        return load_release(version).operator(name) is not None

    assert [has(version, "linalg_matrix_sqrth") for version in ("2.13", "2.14.1", "2.15")] == [False, True, True]
    assert [has(version, "_batch_norm_with_update") for version in ("2.3", "2.4")] == [False, True]


def test_the_default_release_is_the_index_of_its_own() -> None:
    assert load_release().version == load_release("2.13").version == load_index().version == "2.13.0"


def test_unknown_releases_name_the_known_ones() -> None:
    known = ", ".join(bundled_versions())
    for version in ("2.0", "2", "2.6.7", ""):
        with pytest.raises(
            LookupError, match=f'^no operator index of PyTorch "{version}" is bundled, only of {known}$'
        ):
            load_release(version)


def test_what_is_bundled_is_small() -> None:
    """What is extracted; what is written by hand replaces code."""
    assert sum((DATA / name).stat().st_size for name in (history.HISTORY, book.GENERATORS, book.ENTRIES)) < 105_000


# ---- which release a file is of


def schemas_of(natives: NativeFunctions) -> list[str]:
    """The names of the entries of a release's derivatives.yaml."""
    assert natives.derivatives is not None
    functions = [natives.operator(name) for name in natives.derivatives]
    return [str(function.schema) for function in functions if function is not None]


@pytest.mark.parametrize("version", sample(bundled_versions(), 2))
def test_a_whole_file_is_of_its_release(version: str) -> None:
    found = detected_release(schemas_of(load_release(version)))
    assert found is not None
    # between these two, no entry came and none went
    assert found.version == {"2.14.1": "2.15.0"}.get(version, version)
    assert found.is_other is (version not in ("2.12.1", "2.13.0"))


def test_a_part_that_the_default_release_has_is_taken_for_it() -> None:
    found = detected_release(
        ["sin(Tensor self) -> Tensor", "linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)"]
    )
    assert found is not None
    assert str(found) == "PyTorch 2.13.0 (2 of 2 schemas)"
    assert not found.is_other


def test_a_part_of_another_release() -> None:
    names = [function.func_text for function in load_release("2.14.1").named("linalg_matrix_sqrth")]
    assert names
    found = detected_release([names[0], "sin(Tensor self) -> Tensor", "sin(Tensor self) -> Tensor"])
    assert found is not None
    assert (found.version, found.matched, found.total, found.default) == ("2.15.0", 2, 2, 1)
    assert found.is_other


@pytest.mark.parametrize(("arguments", "version"), [(5, "2.14.1"), (6, "2.15.0")])
def test_helpers_tell_releases_apart_whose_entries_are_the_same(arguments: int, version: str) -> None:
    schemas = schemas_of(load_release("2.14.1"))
    found = detected_release(schemas, lambda: [("linalg_det_jvp", arguments), ("no_such", 1)])
    assert found is not None
    assert found.version == version


@pytest.mark.parametrize("schemas", [[], ["no_such(Tensor self) -> Tensor"], [""], ["(" * 1000]])
def test_a_file_of_no_release(schemas: list[str]) -> None:
    assert detected_release(schemas) is None


# ---- bundling


def bundleable(version: str) -> dict[str, Any]:
    index = index_of(version, ["add(Tensor self) -> Tensor"], {}, None)
    index["generator_lists"] = {topic: ["add"] for topic in (*TOPICS, DECOMPOSED)}
    index["derivatives"] = {"add": ["self"]}
    return index


def test_bundling_is_deterministic_and_does_not_depend_on_the_order() -> None:
    indexes = [bundleable(version) for version in ("2.9.1", "2.10.0", "2.13.0")]
    files = bundled_files(indexes)
    assert files == bundled_files(indexes[::-1])
    assert files.keys() == {"generators.txt", "entries.txt", "history.json.zlib", "index-2.13.0.json"}
    assert json.loads(files["index-2.13.0.json"])["generator_lists"] is None


def test_indexes_that_cannot_be_bundled_are_named() -> None:
    good = bundleable("2.9.1")
    for bad, message in (
        (bundleable("2.9.0"), 'two indexes of one release: "2.9.1" and "2.9.0"'),
        (bundleable("main"), '"main" is not a release of PyTorch'),
        (bundleable("2.8.0") | {"generator_lists": {"view": []}}, 'the index of PyTorch "2.8.0" lacks complex, '),
        (bundleable("2.8.0") | {"derivatives": None}, 'the index of PyTorch "2.8.0" lacks derivatives'),
    ):
        with pytest.raises(BundleError) as raised:
            bundled_files([good, bad])
        assert str(raised.value).startswith(message)
