"""The pre-commit hooks: which files they run on, and how they behave in repositories of users."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import SIN

ROOT = Path(__file__).parent.parent
#: The files that pip needs to install derivlint.
SOURCES = (
    *(".pre-commit-hooks.yaml", "LICENSE", "README.md", "THIRD_PARTY.md", "pyproject.toml", "setup.py"),
    *("grammar", "rules", "src"),
)
#: Errors of pip without access to an index; other failures are bugs.
OFFLINE = re.compile(r"connection broken by|Failed to establish a new connection|Temporary failure in name resolution")
MISTAKE = SIN.replace("self.cos()", "slef.cos()")
MESSAGE = 'error: "slef" is not declared in a backward formula of "sin" (self) [*] [undefined-name]'
NATIVE = """\
- func: sin(Tensor self{}) -> Tensor
  variants: function, method
  dispatch:
    CPU: sin
- func: cos(Tensor self) -> Tensor
  variants: function, method
"""
HYPERLINK = "\x1b]8;"
PROGRESS = "\r\x1b[K"

pytestmark = [
    pytest.mark.tools,
    pytest.mark.skipif(os.name != "posix", reason="pre-commit gives hooks a terminal on POSIX only"),
]


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str

    @property
    def results(self) -> list[str]:
        """The result of each hook as printed by pre-commit."""
        return re.findall(r"^derivlint[^\n.]*\.+(?:\([^)]*\))?(\w+)$", self.out, re.MULTILINE)


@dataclass(frozen=True)
class Repositories:
    """A repository with the hooks, and a pre-commit that has installed them."""

    hooks: Path
    commit: str
    home: Path

    def run(self, folder: Path, *arguments: str) -> Outcome:
        """Run pre-commit in a folder."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "DERIVLINT_"))}
        for name in ("CI", "FORCE_COLOR", "NO_COLOR", "PYTHONPATH", "SKIP"):
            environment.pop(name, None)
        process = subprocess.run(
            [sys.executable, "-m", "pre_commit", *arguments],
            cwd=folder,
            env={
                **environment,
                "PRE_COMMIT_HOME": str(self.home),
                "GIT_CONFIG_GLOBAL": os.devnull,
                # the installation is used only a few times
                "PIP_NO_COMPILE": "1",
                "TERM": "xterm",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=600,
            check=False,
        )
        return Outcome(process.returncode, process.stdout.decode())


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    process = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=600
    )
    return process.stdout.strip()


def configure(folder: Path, repositories: Repositories, hook: str, **options: object) -> None:
    hooks = [{"id": hook, **options}]
    document = {"repos": [{"repo": str(repositories.hooks), "rev": repositories.commit, "hooks": hooks}]}
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(document))


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Repositories:
    """This repository, with the environments that pre-commit creates for it."""
    folder = tmp_path_factory.mktemp("pre-commit")
    hooks = folder / "hooks"
    hooks.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(
                source, hooks / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", ".*_cache")
            )
        else:
            shutil.copy(source, hooks / name)
    git(hooks, "init", "-q")
    git(hooks, "add", "--all", "--force")
    git(hooks, "commit", "-qm", "hooks")
    result = Repositories(hooks, git(hooks, "rev-parse", "HEAD"), folder / "home")
    user = folder / "user"
    user.mkdir()
    git(user, "init", "-q")
    configure(user, result, "derivlint")
    installed = result.run(user, "install-hooks")
    skip_where_offline(installed)
    assert installed.status == 0, installed.out
    return result


def skip_where_offline(outcome: Outcome) -> None:
    """Skip if a hook's environment cannot be installed from a package index."""
    if outcome.status == 0:
        return
    if (found := OFFLINE.search(outcome.out)) is not None:
        pytest.skip(f'pre-commit cannot install hooks without a network: "{found.group()}"')
    if os.environ.get("PIP_NO_INDEX"):
        pytest.skip("pre-commit cannot install hooks without a package index: PIP_NO_INDEX is set")


@pytest.fixture
def user(tmp_path: Path, repositories: Repositories) -> Path:
    """The repository of a user with the hook ``derivlint``."""
    folder = tmp_path / "user"
    folder.mkdir()
    git(folder, "init", "-q")
    configure(folder, repositories, "derivlint")
    return folder


@pytest.fixture
def run(user: Path, repositories: Repositories) -> Callable[..., Outcome]:
    """Add files to the user's repository, and run the hooks on all of them."""

    def invoke(files: dict[str, str], *arguments: str) -> Outcome:
        for name, text in files.items():
            (user / name).parent.mkdir(parents=True, exist_ok=True)
            (user / name).write_text(text)
        git(user, "add", "--all")
        return repositories.run(user, "run", *(arguments or ("--all-files",)))

    return invoke


# the manifest


def test_pre_commit_takes_the_manifest() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")]
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("tools/autograd/derivatives.yaml", True), ("derivatives.yaml", True),
        ("my files/derivatives_custom.yaml", True), ("aten/src/ATen/native/native_functions.yaml", True),
        ("my_derivatives.yaml", True), ("derivatives/config.yaml", False), ("derivatives.yaml.in", False),
        ("tags.yaml", False), ("npu_native_functions.yaml", False),
    ],
)  # fmt: skip
def test_hooks_are_for_derivatives_and_native_functions(path: str, taken: bool) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["derivlint", "derivlint-fix"]
    for hook in hooks:
        assert (re.search(hook["files"], path) is not None) == taken
        assert hook["require_serial"]


# the hooks


def test_a_clean_file_passes_and_says_nothing(run: Callable[..., Outcome]) -> None:
    outcome = run({"derivatives.yaml": SIN})
    assert (outcome.status, outcome.results) == (0, ["Passed"])
    assert outcome.out.count("\n") == 1


def test_other_files_are_none_of_its_business(run: Callable[..., Outcome]) -> None:
    outcome = run({"config.yaml": "a: 1\n"})
    assert (outcome.status, outcome.results) == (0, ["Skipped"])


def test_paths_have_spaces(run: Callable[..., Outcome]) -> None:
    outcome = run({"my files/derivatives.yaml": MISTAKE, "derivatives.yaml": SIN})
    assert (outcome.status, outcome.results) == (1, ["Failed"])
    assert f"my files/derivatives.yaml:2:16: {MESSAGE}" in " ".join(outcome.out.split())
    assert "in 2 files" in outcome.out


def test_changed_operators_have_their_derivatives_file_checked(run: Callable[..., Outcome]) -> None:
    native = "aten/src/ATen/native/native_functions.yaml"
    files = {native: NATIVE.format(""), "tools/autograd/derivatives.yaml": SIN}
    assert run(files, "--files", native).results == ["Passed"]
    outcome = run({native: NATIVE.format(", int dim")}, "--files", native)
    assert (outcome.status, outcome.results) == (1, ["Failed"])
    assert re.search(
        r"^tools/autograd/derivatives.yaml:1:\d+: error: .* \[unknown-schema\]$", outcome.out, re.MULTILINE
    )


def test_excluded_files_are_left_alone_although_pre_commit_names_them(run: Callable[..., Outcome]) -> None:
    files = {"third_party/derivatives.yaml": MISTAKE, "derivlint.toml": 'exclude = ["third_party"]\n'}
    outcome = run(files)
    assert (outcome.status, outcome.results) == (0, ["Passed"])


def test_files_of_other_names_are_those_of_the_configuration(
    run: Callable[..., Outcome], user: Path, repositories: Repositories
) -> None:
    """Files of back ends trigger the hook, and the configuration selects the checked files, as in the guide."""
    configure(user, repositories, "derivlint", files="^config/", pass_filenames=False)
    functions = "custom:\n- func: npu_twice(Tensor self) -> Tensor\n"
    files = {
        "config/derivatives.yaml": (
            "all_version: [v2.1]\nbackward:\n- name: npu_twice(Tensor self) -> Tensor\n  self: grad * 2\n"
        ),
        "config/op_plugin_functions.yaml": functions,
        "derivlint.toml": 'preset = "torch_npu"\npaths = ["config/derivatives.yaml"]\n',
    }
    assert run(files, "--files", "config/op_plugin_functions.yaml").results == ["Passed"]
    changed = {"config/op_plugin_functions.yaml": functions.replace("self)", "self, int times)")}
    outcome = run(changed, "--files", "config/op_plugin_functions.yaml")
    assert outcome.results == ["Failed"]
    assert "[unknown-schema]" in outcome.out


def test_its_terminal_gets_neither_progress_nor_links(run: Callable[..., Outcome]) -> None:
    files = {f"{number}/derivatives.yaml": MISTAKE for number in range(6)}
    outcome = run(files, "--all-files", "--verbose", "--color", "always")
    assert outcome.status == 1
    assert "undefined-name" in outcome.out
    assert "\x1b[1;31m" in outcome.out, "pre-commit did not run the hook on a terminal"
    assert HYPERLINK not in outcome.out
    assert PROGRESS not in outcome.out


def test_the_fixing_hook_fails_when_it_fixes_and_passes_then(
    run: Callable[..., Outcome], user: Path, repositories: Repositories
) -> None:
    configure(user, repositories, "derivlint-fix")
    outcome = run({"derivatives.yaml": "# é\n" + SIN.replace("conj()\n", "conj();\n")})
    assert (outcome.status, outcome.results) == (1, ["Failed"])
    assert "files were modified by this hook" in outcome.out
    assert (user / "derivatives.yaml").read_text() == "# é\n" + SIN
    again = run({})
    assert (again.status, again.results) == (0, ["Passed"])
