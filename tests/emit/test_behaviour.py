"""Emitted kernels behave as PyTorch's own: the same snippets say the same with an extension and without.

Two processes run the snippets of ``behaviour_checks``, one of them with two extensions: the one of ``test_extension``,
and one of operators that lack formulas or have kernels of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import derivlint
from derivlint.emit.emission import emission
from derivlint.emit.files import write_files
from derivlint.model import build_model
from derivlint.runtime import build
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.emit import behaviour_checks, extension_checks
from tests.emit.behaviour.telling import SNIPPETS

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(sys.platform != "linux", reason="hidden helpers are reached on Linux only"),
]

#: What each snippet came to, and the nodes of extensions that it met.
Results = dict[str, tuple[Any, list[str]]]

#: Snippets in which no node can be seen: all their calls are refused, or they look at values only.
AT_LEAST_WITH_NODES = 40


@pytest.fixture(scope="module")
def folders(request: pytest.FixtureRequest, derivatives_path: Path, installed_natives: NativeFunctions) -> list[Path]:
    """The two extensions, built; kept from run to run."""
    cache = request.config.cache
    assert cache is not None
    # a path that is the same in every run keeps the build valid
    source = SourceFile.from_bytes("derivatives.yaml", derivatives_path.read_bytes())
    model = build_model(source, installed_natives)
    found = []
    for name, namespace, operators in (
        ("right", "derivlint_tests", extension_checks.OPERATORS),
        ("more", "derivlint_tests_more", behaviour_checks.MORE_OPERATORS),
    ):
        folder = cache.mkdir("derivlint-extensions") / name
        write_files(folder, emission(model, operators, namespace, shards=1).files)
        build(folder)
        found.append(folder)
    return found


def run(folders: list[Path]) -> Results:
    """What the snippets say in a process of their own."""
    roots = [str(Path(derivlint.__file__).parent.parent), str(Path(__file__).parents[2])]
    path = os.pathsep.join([*roots, *filter(None, [os.environ.get("PYTHONPATH")])])
    places = [str(place) for folder in folders for place in (folder, folder / "build")]
    done = subprocess.run(
        [sys.executable, behaviour_checks.__file__, *places],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return {name: (found, nodes) for name, (found, nodes) in json.loads(done.stdout.splitlines()[-1]).items()}


@pytest.fixture(scope="module")
def both(folders: list[Path]) -> tuple[Results, Results]:
    """What PyTorch's own kernels do, and what ours do."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        own, ours = pool.submit(run, []), pool.submit(run, folders)
        return own.result(), ours.result()


@pytest.mark.parametrize("name", sorted(SNIPPETS))
def test_behaviour_is_that_of_pytorchs_own_kernels(name: str, both: tuple[Results, Results]) -> None:
    """Values, nodes, views, versions, errors: all that a snippet prints."""
    own, ours = both
    assert ours[name][0] == own[name][0]


def test_snippets_run_to_their_end(both: tuple[Results, Results]) -> None:
    """A snippet that breaks off prints nothing; errors that it looks for are reported within it."""
    own, _ = both
    broken = [
        name for name, (found, _) in own.items() if isinstance(found, dict) and found.keys() == {"error", "message"}
    ]
    assert broken == []
    assert len(own) >= 90


def test_nodes_are_ours(both: tuple[Results, Results]) -> None:
    """It is our kernels that are compared with PyTorch's, and not those once more."""
    own, ours = both
    assert {name: nodes for name, (_, nodes) in own.items() if nodes} == {}
    assert sum(bool(nodes) for _, nodes in ours.values()) >= AT_LEAST_WITH_NODES
    assert len({node for _, nodes in ours.values() for node in nodes}) >= 60
