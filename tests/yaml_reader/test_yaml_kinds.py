"""Types of scalars, against what PyYAML's SafeLoader builds."""

from __future__ import annotations

import datetime

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from derivlint.yaml_reader import Mapping, Scalar
from tests.sampling import examples
from tests.yaml_reader.helpers import read, read_clean, shown

KINDS = {
    str: "str", int: "int", float: "float", bool: "bool", type(None): "null", datetime.date: "timestamp",
    datetime.datetime: "timestamp", bytes: "binary",
}  # fmt: skip

ODD = """
    yes Yes YES yEs no No NO on On ON oN off Off OFF true True TRUE tRue false False FALSE y n Y N
    ~ null Null NULL nUll nil None 0 00 08 07 1_000 _1 1_ 0b1 0b12 0x1F 0xg 0o7 -0 +1 +-1 1:30 1:60 190:20:30 -1:30
    01:30 1.5 1. .5 . .. 1e3 1.e3 1.0e3 1.0e+3 1.5E-2 -.5 .inf -.inf +.Inf .INF .nan .NaN -.nan 1:30.5 1_0.5
    2001-01-02 2001-1-2 2001-01-02T03:04:05 2001-1-2t3:04:05.6Z 2001-01-02T03:04:05+01:30 01-01-01 20010102
    -- -a a=b == <<< self grad, 1,2 +a .a 0.0.1 1-1 a:b ::x
"""


def kind_in_both(text: str) -> str:
    found = set()
    for pure in (False, True):
        root = read(text, pure=pure).root
        assert isinstance(root, Mapping)
        value = root.pairs[0].value
        assert isinstance(value, Scalar)
        found.add(value.kind)
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize("word", ["", *ODD.split()])
def test_kind_is_the_type_that_pyyaml_builds(word: str) -> None:
    source = f"a: {word}\n"
    assert kind_in_both(source) == KINDS[type(yaml.safe_load(source)["a"])]


@settings(max_examples=examples(400), deadline=None)
@given(st.text(st.sampled_from(list("0123456789_.:-+eExbTZ infa")), min_size=1, max_size=12))
def test_kind_of_things_like_numbers_is_the_type_that_pyyaml_builds(word: str) -> None:
    source = f"a: {word}\n"
    document = read(source)
    try:
        expected = yaml.safe_load(source)["a"]
    except (yaml.YAMLError, ValueError, OverflowError):
        assert document.problems
        return
    except TypeError:
        return
    assert document.problems == ()
    assert isinstance(document.root, Mapping)
    value = document.root.pairs[0].value
    if isinstance(value, Scalar):
        assert value.kind == KINDS[type(expected)]
    else:
        assert isinstance(expected, (dict, list))


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("a: !!str 1\n", "str"), ("a: !!int '1'\n", "int"), ('a: "1"\n', "str"), ("a: 'yes'\n", "str"),
        ("a: |\n  1\n", "str"), ("a: ! 1\n", "int"), ("a: ! '1'\n", "int"), ("a: !!null x\n", "null"),
        ("a: !!bool 'On'\n", "bool"), ("a: !!float '1'\n", "float"), ("a: !!binary YWJj\n", "binary"),
        ("a: !!timestamp '2001-01-02'\n", "timestamp"), ("a: !<tag:yaml.org,2002:str> 1\n", "str"),
    ],
)  # fmt: skip
def test_tags_decide_the_kind(source: str, kind: str) -> None:
    read_clean(source)
    assert kind_in_both(source) == kind
    assert KINDS[type(yaml.safe_load(source)["a"])] == kind


def test_merge_and_value_keys() -> None:
    root = read_clean("<<: {a: b}\n=: c\n")
    assert isinstance(root, Mapping)
    assert [key.kind for key, _ in root.scalars()] == ["merge", "other"]


@pytest.mark.parametrize(
    ("source", "marked", "message"),
    [
        ("a: !x y\n", "!x", 'unknown tag "!x"'),
        ("a: !!python/name:os.system\n", "!!python/name:os.system", 'unknown tag "!!python/name:os.system"'),
        ("a: !grad.defined()\n", "!grad.defined()", 'unknown tag "!grad.defined()"'),
        ("a: !x &n y\n", "!x", 'unknown tag "!x"'),
        ("a: !x [b]\n", "!x", 'unknown tag "!x"'),
        ("a: !!set {b}\n", "!!set", 'tag "!!set" does not fit a mapping'),
        ("a: !!str [b]\n", "!!str", 'tag "!!str" does not fit a list'),
        ("a: !!map b\n", "!!map", 'tag "!!map" does not fit a scalar'),
        ("a: !!int x\n", "x", '"x" is not an integer that can be loaded, as its tag "!!int" demands'),
        ("a: !!bool maybe\n", "maybe", '"maybe" is not a boolean, as its tag "!!bool" demands'),
        ("a: !!binary é\n", "é", '"é" is not base64 text, as its tag "!!binary" demands'),
        ("a: 2001-99-99\n", "2001-99-99", '"2001-99-99" looks like a date but is not a date that exists'),
        ("a: 0b_\n", "0b_", '"0b_" looks like an integer but is not an integer that can be loaded'),
        ("a: =\n", "=", 'the value "=" has a special meaning in YAML 1.1 and cannot be loaded'),
    ],
)
def test_what_pyyaml_cannot_build_is_a_tag_problem(source: str, marked: str, message: str) -> None:
    assert shown(source) == [("tag", marked, message)]
    assert read(source, pure=True).problems == read(source).problems
    # The node stays, so that everything else about the file can still be checked.
    assert isinstance(read(source).root, Mapping)


def test_an_integer_with_too_many_digits_is_a_tag_problem() -> None:
    assert [kind for kind, _, _ in shown("a: " + "9" * 5000)] == ["tag"]
    assert [kind for kind, _, _ in shown("a: 1" + ":1" * 200 + ".5")] == ["tag"]
