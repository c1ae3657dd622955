"""A folder with a file of wrong formulas, a cache with recorded inputs, and the command run there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest

from derivlint.cli.main import cli
from derivlint.compiler.gxx import find_compiler, torch_includes
from derivlint.model import Model, build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests import warm
from tests.running import runner
from tests.verify.wrong import ENTRIES, SAMPLES

NEEDS_COMPILER = pytest.mark.skipif(
    sys.platform != "linux" or find_compiler() is None or torch_includes() is None,
    reason="formulas are compiled with g++ on Linux; --no-compile is tested everywhere",
)


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


@pytest.fixture(scope="module", autouse=True)
def warm_children(pytestconfig: pytest.Config) -> Iterator[None]:
    """Have the processes that check and record be warm ones; those of tests/safety start as for users."""
    with pytest.MonkeyPatch.context() as patch:
        if sys.platform == "linux" and not pytestconfig.getoption("campaign"):
            patch.setattr("derivlint.verify.processes.process.PythonChild", warm.WarmChild)
            # a command that waits for the server would say so
            warm.run(warm.text, "pass")
        yield


@pytest.fixture(scope="session")
def model(derivatives_path: Path, installed_natives: NativeFunctions) -> Model:
    """The model of the shipped file."""
    return build_model(SourceFile.read(derivatives_path), installed_natives)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, packaged: Path) -> Path:
    """A folder with ``derivatives.yaml`` and a cache."""
    from derivlint.verify.processes.recordings import recording_path

    folder = tmp_path_factory.mktemp("verify")
    (folder / "derivatives.yaml").write_text(ENTRIES)
    cache = folder / "cache" / "verify"
    cache.parent.mkdir(mode=0o700)
    cache.mkdir(mode=0o700)
    version = metadata.version("torch").partition("+")[0]
    pattern = str(recording_path(cache, "DTYPE", version))
    subprocess.run([sys.executable, "-c", SAMPLES, pattern], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def command(folder: Path) -> Command:
    """Runs ``derivlint verify`` in the folder."""

    def run(*arguments: str) -> Done:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            patch.setenv("DERIVLINT_CACHE_DIR", str(folder / "cache"))
            result = runner().invoke(cli, ["verify", "--isolated", *arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Done(result.exit_code, result.stdout, result.stderr)

    return run
