"""A hostile repository gets nothing done: see ``hostile_repository`` for what it tries."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import pytest

from derivlint.formats.registry import FORMATS
from derivlint.source import visible
from tests.safety.hostile_repository import Hostile, build, configurations, snapshot
from tests.sampling import sample

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and devices as POSIX has them"),
    pytest.mark.skipif(shutil.which("git") is None, reason="no git"),
    pytest.mark.long,
]

#: Runs the command as its script does, whose folder and not the current one is on the path of modules, and keeps a
#: record of the programs that are started and of what is written.
LAUNCHER = """
import os, sys
record = open(os.environ["RECORD"], "a", buffering=1)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.link", "os.symlink", "os.truncate")
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty")
def audit(event, arguments):
    if event in STARTS:
        print("start", event, repr(arguments[:1]), file=record)
    elif event in CHANGES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES):
        if not isinstance(arguments[0], int):
            print("write", os.path.abspath(os.fsdecode(arguments[0])).encode("unicode_escape").decode(), file=record)
    # the library of no name is the process itself
    elif event == "pickle.find_class" or (event == "ctypes.dlopen" and arguments[0] is not None):
        print("load", event, file=record)
sys.addaudithook(audit)
from derivlint.__main__ import main
main()
"""
#: Processor time that one command may take: the work is bounded, and the machine may be slow.
SECONDS = 30.0
#: Revisions; most do not exist.
REVISIONS = ("HEAD", "HEAD...", "main~0", "0" * 40, "--output=x", "HEAD:tracked.yaml", "@{-1}", "\x1b[31m")
COMMAND = re.compile(r"\s*(::(?!(?:at|c10|std|torch)::)|##\w*\[)")


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str
    starts: tuple[str, ...]
    writes: tuple[str, ...]


class Bench:
    """Runs commands in the repository and looks what they did."""

    def __init__(self, hostile: Hostile, folder: Path) -> None:
        self.hostile = hostile
        self.folder = folder
        self.scripts = folder / "scripts"
        self.scripts.mkdir()
        (self.scripts / "derivlint-script.py").write_text(LAUNCHER)
        self.cache = folder / "cache"
        self.home = folder / "home"
        self.home.mkdir()
        self.before = snapshot(hostile.root, hostile.foreign, self.home)

    def run(
        self,
        *arguments: str,
        status: Sequence[int] = (0, 1, 2),
        stdin: bytes = b"",
        where: str = ".",
        variables: Mapping[str, str] | None = None,
    ) -> Done:
        """Run a command; it ends in time and in order, starts at most git, and changes nothing but the cache."""
        record = self.folder / "record"
        record.unlink(missing_ok=True)
        compiler = str(self.hostile.root / "compiler")
        environment = {
            "PATH": os.pathsep.join(("", ".", os.environ.get("PATH", os.defpath))),
            "HOME": str(self.home),
            "DERIVLINT_CACHE_DIR": str(self.cache),
            "RECORD": str(record),
            "PYTHONDONTWRITEBYTECODE": "1",
            **dict.fromkeys(
                ("CXX", "CC", "EDITOR", "PAGER", "GIT_PAGER", "GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND"), compiler
            ),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.fsmonitor",
            "GIT_CONFIG_VALUE_0": compiler,
            **(variables or {}),
        }
        began = _child_seconds()
        process = subprocess.run(
            [sys.executable, str(self.scripts / "derivlint-script.py"), *arguments],
            cwd=self.hostile.root / where,
            env=environment,
            input=stdin,
            capture_output=True,
            check=False,
            timeout=300,
        )
        used = _child_seconds() - began
        lines = record.read_text().splitlines() if record.exists() else []
        done = Done(
            process.returncode,
            process.stdout.decode("utf-8", "surrogateescape"),
            process.stderr.decode("utf-8", "surrogateescape"),
            tuple(line for line in lines if line.startswith(("start", "load"))),
            tuple(line.removeprefix("write ") for line in lines if line.startswith("write")),
        )
        what = " ".join(arguments)
        assert done.status in status, (what, done.status, done.err)
        assert sorted(path.name for path in self.hostile.canaries.iterdir()) == [], what
        assert "Traceback" not in done.err, what
        assert used < SECONDS, what
        allowed = (str(self.cache), str(self.folder / "out"), os.devnull)
        assert [path for path in done.writes if not path.startswith(allowed)] == [], what
        return done

    def unchanged(self) -> bool:
        """Whether everything in the repository, the foreign folder and the home folder is as it was."""
        return snapshot(self.hostile.root, self.hostile.foreign, self.home) == self.before


def _child_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def assert_harmless(text: str, *, ours: str = "") -> None:
    """No control codes, and no line that a build server takes for a command but ours."""
    for line in text.split("\n"):
        assert line.replace("\t", "").isprintable(), ascii(line)
        shown = line.removeprefix(ours) if ours else line
        assert COMMAND.match(shown) is None, ascii(line)
        assert "##vso[" not in line
        assert "##[" not in line


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    """The repository, which no test leaves changed."""
    return build(tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def bench(hostile: Hostile, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(hostile, tmp_path)
    yield bench
    assert bench.unchanged()


def files(hostile: Hostile) -> list[str]:
    """Every file that looks like a derivatives file, as the command line names it."""
    found = [path for path in hostile.root.rglob("*derivatives*.yaml") if not path.is_dir()]
    return sorted(f"./{path.relative_to(hostile.root)}" for path in found if "loops" not in path.parts)


def test_there_are_many_traps(hostile: Hostile) -> None:
    assert len(set(hostile.traps)) >= 45


def test_every_file_is_checked_or_refused(bench: Bench) -> None:
    found = files(bench.hostile)
    for options in ((), ("--untrusted",), ("--no-cache", "-v")):
        done = bench.run("check", *found, *options)
        assert_harmless(done.out + done.err)
        assert done.starts == ()
    # links lead out, so that the profile refuses the run as a whole; without them it does not
    assert done.status == 2
    inside = [file for file in found if not (bench.hostile.root / file).is_symlink()]
    for file in inside:
        assert visible(file) in done.out + done.err
    done = bench.run("check", *inside, "--untrusted")
    assert_harmless(done.out + done.err)
    assert "SECRET" not in done.out + done.err


@pytest.mark.parametrize(
    ("output_format", "untrusted"),
    sample(product(FORMATS, (False, True)), 4, always=[("github", False), ("text", False), ("sarif", True)]),
)
def test_every_format_of_everything_at_once(bench: Bench, output_format: str, untrusted: bool) -> None:
    profile = ("--untrusted",) if untrusted else ()
    done = bench.run("check", ".", *profile, "--output-format", output_format)
    ours = re.compile(r"^::(error|warning|notice) (file|title)=", re.MULTILINE)
    assert_harmless(ours.sub("ours ", done.out) if output_format == "github" else done.out)
    assert_harmless(done.err)
    assert done.starts == ()
    if output_format in ("json", "sarif", "gitlab", "rdjson") and done.out:
        assert json.loads(done.out)


def test_every_configuration_is_followed_or_refused(bench: Bench) -> None:
    own = bench.hostile.root / "derivlint.toml"
    for name, text in sample(configurations(bench.hostile), 5):
        own.write_bytes(text.encode("utf-8", "surrogatepass"))
        for options in ((), ("--untrusted",)):
            done = bench.run("check", "derivatives.yaml", *options)
            assert_harmless(done.out + done.err)
            assert done.starts == (), name
            assert "SECRET" not in done.out + done.err, name
            if options == ("--untrusted",):
                # it is wrong, and no configuration hides that
                assert done.status in (1, 2), name
    own.unlink()


@pytest.mark.parametrize("where", [".", "submodule", "worktree"])
def test_git_runs_nothing_that_the_repository_names(bench: Bench, where: str) -> None:
    names = ("tracked.yaml", "renamed-after.yaml", "derivatives.yaml")
    files = [file for file in names if (bench.hostile.root / where / file).exists()]
    # a folder with a file that leads to a repository has one file, and git reads the revision first in every case
    revisions = REVISIONS if where == "." else ("HEAD", "--output=x")
    turns = [(files[number % len(files)], revision) for number, revision in enumerate(revisions)]
    for file, revision in sample(product(files, REVISIONS), len(turns), always=turns):
        done = bench.run("check", file, "--diff-base", revision, where=where)
        assert_harmless(done.out + done.err)
        assert all("git" in line and "'.'" not in line for line in done.starts)
    if where == ".":
        assert "1 in unchanged entries" in bench.run("check", "tracked.yaml", "--diff-base", "HEAD").out
        # the index says what it was called
        assert "5 in unchanged entries" in bench.run("check", "renamed-after.yaml", "--diff-base", "HEAD").out


def test_objects_that_are_not_there_are_not_fetched(tmp_path: Path) -> None:
    hostile = build(tmp_path)
    for blob in (hostile.root / ".git/objects").glob("??/*"):
        blob.chmod(0o644)
        blob.unlink()
    bench = Bench(hostile, tmp_path)
    done = bench.run("check", "tracked.yaml", "--diff-base", "HEAD", status=(1, 2))
    assert_harmless(done.out + done.err)
    assert bench.unchanged()


def test_the_other_commands(bench: Bench) -> None:
    """None of the commands starts a program, or writes anywhere but to the named output."""
    out = str(bench.folder / "out")
    Path(out).mkdir()
    files = ("derivatives.yaml", "checkout/tools/autograd/derivatives.yaml", "encodings/derivatives_escapes.yaml")
    commands = (
        "model FILE", "coverage FILE", "coverage FILE --output-format markdown", "show sin FILE",
        "derive sin(a) FILE --wrt a", f"emit cpp FILE --out {out}/cpp --ops cos --force",
        f"emit python FILE --out {out}/module.py --force", "check FILE --diff", "check FILE --statistics",
        f"check FILE --output-file {out}/report", "rules", "rule undefined-name", "index show sin",
    )  # fmt: skip
    turns = [(command, files[number % len(files)]) for number, command in enumerate(commands)]
    for command, file in sample(product(commands, files), len(turns), always=turns):
        done = bench.run(*command.replace("FILE", file).split())
        assert_harmless(done.out + done.err)
        assert [line for line in done.starts if "git" not in line] == [], (command, file)
    for path in Path(out).rglob("*"):
        if path.is_file():
            assert "INJECTED" not in path.name


def test_fixing_changes_the_file_and_nothing_else(bench: Bench) -> None:
    done = bench.run(
        "check", "-", "--fix", "--unsafe-fixes", stdin=(bench.hostile.root / "derivatives.yaml").read_bytes()
    )
    assert "self.cos()" in done.out
    copy = bench.folder / "out"
    copy.mkdir()
    (copy / "derivatives.yaml").write_bytes((bench.hostile.root / "derivatives.yaml").read_bytes())
    done = bench.run("check", str(copy / "derivatives.yaml"), "--fix", "--unsafe-fixes", "-q")
    assert "self.cos()" in (copy / "derivatives.yaml").read_text()
    assert done.starts == ()


#: Options of ``check`` that the profile forbids.
FORBIDDEN = (
    ("--fix",), ("--fix-only",), ("--diff",), ("--add-ignores", "x"), ("--compiler", "g++"),
    ("--baseline", "b.json", "--update-baseline"), ("--baseline", "baseline.json", "--prune-baseline"),
    ("--output-file", "report.json"), ("@list.txt",), ("--config", "list.txt"), ("--headers", "list.txt"),
    ("--baseline", "list.txt"), ("--native-functions", "foreign-folder/secret.txt"), ("foreign-folder",),
)  # fmt: skip
PROFILES = ("--untrusted", "DERIVLINT_UNTRUSTED")


def test_the_profile_refuses_what_writes_compiles_or_leads_out(bench: Bench) -> None:
    turns = [(options, PROFILES[number % 2]) for number, options in enumerate(FORBIDDEN)]
    for options, profile in sample(product(FORBIDDEN, PROFILES), len(turns), always=turns):
        variables = {profile: "1"} if profile == "DERIVLINT_UNTRUSTED" else {}
        own = () if variables else (profile,)
        done = bench.run("check", "derivatives.yaml", *options, *own, status=(2,), variables=variables)
        assert "SECRET" not in done.out + done.err
        assert done.out == "", options
        assert done.starts == (), options


@pytest.mark.parametrize("variable", ["DERIVLINT_CACHE_DIR", "XDG_CACHE_HOME"])
def test_a_cache_in_the_repository_is_not_used(bench: Bench, variable: str) -> None:
    cache = bench.hostile.root / ".cache"
    variables = {"DERIVLINT_CACHE_DIR": "", variable: str(cache / "derivlint" if "DERIV" in variable else cache)}
    done = bench.run(
        "check", "derivatives.yaml", "--headers", "headers/evil.h", "--untrusted", "-v", variables=variables
    )
    assert done.status == 1
    assert "the cache is inside the repository" in done.err


def test_patterns_do_not_follow_links_that_go_round(bench: Bench) -> None:
    for pattern in ("**/*derivatives*.yaml", "loops/**/*derivatives*.yaml", "**/**/**/*.yaml", "*/*/*.yaml"):
        done = bench.run("check", pattern, "--show-files")
        assert_harmless(done.out + done.err)


@pytest.mark.skipif(find_spec("pygls") is None, reason="no pygls")
def test_the_language_server(bench: Bench) -> None:
    messages: list[dict[str, object]] = [
        {
            "id": 1,
            "method": "initialize",
            "params": {"processId": None, "rootUri": bench.hostile.root.as_uri(), "capabilities": {}},
        },
        {"method": "initialized", "params": {}},
    ]
    opened = [
        file for file in files(bench.hostile) if not any(word in file for word in ("pipe", "devi", "huge", "loop"))
    ]
    for number, file in enumerate(opened):
        path = Path(os.path.abspath(bench.hostile.root / file))
        text = path.read_bytes().decode("utf-8", "replace")[:5000]
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": text}
        messages.append({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        where = {"textDocument": {"uri": path.as_uri()}, "position": {"line": 1, "character": 5}}
        messages.append({"id": 10 + number, "method": "textDocument/hover", "params": where})
    messages += [{"id": 2, "method": "shutdown"}, {"method": "exit"}]
    stdin = b""
    for message in messages:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        stdin += b"Content-Length: %d\r\n\r\n" % len(data) + data
    done = bench.run("lsp", status=(0, 1), stdin=stdin)
    assert_harmless(done.err)
    assert done.starts == ()


def test_only_the_documented_commands_start_programs(bench: Bench) -> None:
    """What compiles says so in its name; with the profile it is refused before anything starts."""
    for arguments in (
        ("verify", "derivatives.yaml"),
        ("emit", "cpp", "derivatives.yaml", "--out", str(bench.folder / "out"), "--compile-check", "--allow-errors"),
    ):
        done = bench.run(*arguments, status=(2,), variables={"DERIVLINT_UNTRUSTED": "1"})
        assert done.starts == ()
        assert "forbids" in done.err
