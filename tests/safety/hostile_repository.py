"""A repository that tries everything: to run code, to have foreign files read or changed, to speak to build servers.

Every trap that would run something leaves a canary: a file in a folder that stays empty where nothing ran. Every trap
that would change a foreign file aims at one in the folder ``foreign``.
"""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

SIN = "- name: sin(Tensor self) -> Tensor\n  self: grad * sefl.cos().conj()\n  result: auto_element_wise\n"
COS = "- name: cos(Tensor self) -> Tensor\n  self: grad * -self.sin().conj()\n  result: auto_element_wise\n"
INJECTED = "x\n::error::INJECTED"

#: Modules that Python, derivlint or its libraries import, as they would be found in the current folder.
MODULES = (
    "torch/__init__.py", "torchgen/__init__.py", "derivlint/__init__.py", "derivlint/cli/__init__.py",
    "lark/__init__.py",
    "ruamel/__init__.py", "ruamel/yaml/__init__.py", "click/__init__.py", "rich/__init__.py", "pygls/__init__.py",
    "json.py", "re.py", "tomllib.py", "tomli.py", "tempfile.py", "hashlib.py", "subprocess.py", "difflib.py",
    "sitecustomize.py", "usercustomize.py", "conftest.py", "encodings/__init__.py",
)  # fmt: skip
#: Programs that derivlint or git might look for, as they would be found in the current folder.
PROGRAMS = ("git", "git.exe", "g++", "c++", "cc", "ccache", "less", "ssh", "sh", "python", "python3")


@dataclass(frozen=True)
class Hostile:
    """The repository.

    Attributes:
        root: the repository.
        foreign: a folder that is none of its business.
        canaries: the folder where traps that run leave a file.
        traps: the names of the traps.
    """

    root: Path
    foreign: Path
    canaries: Path
    traps: tuple[str, ...]


class Builder:
    """Sets the traps; a method for each."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repository"
        self.foreign = folder / "foreign"
        self.canaries = folder / "canaries"
        for made in (self.root, self.foreign, self.canaries):
            made.mkdir()
        (self.foreign / "secret.txt").write_text("root:x:0:0:SECRET\n")
        (self.foreign / "important.py").write_text("important = True\n")
        (self.foreign / "derivatives.yaml").write_text("SECRET\n")

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        return path

    def script(self, name: str) -> Path:
        path = self.write(name, f"#!/bin/sh\n: > '{self.canaries}/{Path(name).name}'\n")
        path.chmod(0o755)
        return path

    def link(self, name: str, target: str | Path) -> None:
        (self.root / name).symlink_to(target)

    # What would run

    def trap_modules_in_the_current_folder(self) -> None:
        for name in MODULES:
            canary = name.replace("/", "-")
            self.write(name, f"open({str(self.canaries / canary)!r}, 'w').close()\nraise ImportError('trap')\n")

    def trap_programs_in_the_current_folder(self) -> None:
        for name in PROGRAMS:
            self.script(name)

    def trap_git_configuration(self) -> None:
        self._git("init", "-q", "-b", "main")
        self.write("tracked.yaml", SIN)
        self.write("renamed-before.yaml", SIN * 3)
        self._git("add", "tracked.yaml", "renamed-before.yaml")
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        self._git(*identity, "commit", "-q", "-m", "first")
        self._git("mv", "renamed-before.yaml", "renamed-after.yaml")
        self.write("tracked.yaml", SIN + COS)
        self.write(".gitattributes", "* filter=evil diff=evil\n")
        names = ("fsmonitor", "clean", "smudge", "process", "textconv", "external", "alias", "pager", "ssh", "editor")
        program = {name: self.script(f"bin/git-{name}") for name in names}
        config = {
            "core.fsmonitor": program["fsmonitor"],
            "core.hooksPath": self.root / "hooks",
            "core.pager": program["pager"],
            "core.editor": program["editor"],
            "core.sshCommand": program["ssh"],
            "core.untrackedCache": "true",
            "core.alternateRefsCommand": program["ssh"],
            "filter.evil.clean": program["clean"],
            "filter.evil.smudge": program["smudge"],
            "filter.evil.process": program["process"],
            "filter.evil.required": "true",
            "diff.external": program["external"],
            "diff.evil.textconv": program["textconv"],
            "diff.evil.command": program["external"],
            "alias.rev-parse": f"!{program['alias']}",
            "alias.cat-file": f"!{program['alias']}",
            "pager.diff-index": program["pager"],
            "gpg.program": program["editor"],
            "credential.helper": f"!{program['ssh']}",
            # objects that are not there are fetched, by a program that the address names
            "extensions.partialClone": "origin",
            "remote.origin.promisor": "true",
            "remote.origin.url": f"ext::{program['ssh']} %S",
            "remote.origin.uploadpack": program["ssh"],
            "protocol.ext.allow": "always",
            "protocol.allow": "always",
            "core.repositoryformatversion": "1",
        }
        for key, value in config.items():
            self._git("config", key, str(value))
        for hook in ("post-index-change", "post-checkout", "reference-transaction", "pre-commit", "fsmonitor-watchman"):
            self.script(f"hooks/{hook}")
            self.script(f".git/hooks/{hook}")

    def trap_git_file_that_points_elsewhere(self) -> None:
        self.write("submodule/.git", f"gitdir: {self.root / '.git'}\n")
        self.write("submodule/derivatives.yaml", SIN)

    def trap_git_file_of_a_foreign_place(self) -> None:
        self.write("worktree/.git", f"gitdir: {self.foreign}\n")
        self.write("worktree/derivatives.yaml", SIN)

    def trap_compiler_of_the_environment(self) -> None:
        # CXX and the like name it
        self.script("compiler")

    def trap_yaml_tags(self) -> None:
        command = f"touch {self.canaries}/yaml"
        self.write(
            "derivatives_tags.yaml",
            f"- name: !!python/object/apply:os.system ['{command}']\n"
            f"- !!python/object/new:subprocess.Popen [['sh', '-c', '{command}']]\n"
            f"- name: !!python/name:os.system\n\n"
            f"  self: !!python/object/apply:eval [\"open('{self.canaries}/e','w')\"]\n",
        )

    def trap_code_in_native_functions(self) -> None:
        code = f"__import__('os').system('touch {self.canaries}/native')"
        self.write(
            "checkout/aten/src/ATen/native/native_functions.yaml",
            f"- func: {code}(Tensor self) -> Tensor\n"
            f'- func: "{{self.__class__}}(Tensor self, int a={code}) -> Tensor"\n'
            f"  dispatch:\n    CPU: {code}\n- func: sin(Tensor self) -> Tensor\n  variants: function, method\n",
        )
        self.write("checkout/tools/autograd/derivatives.yaml", SIN + f"  x: {code}\n")
        self.write("checkout/version.txt", "9" * 100_000)
        self.write("checkout/aten/src/ATen/native/tags.yaml", "!!python/object/apply:os.system ['true']\n")

    def trap_header_with_directives(self) -> None:
        self.write(
            "headers/evil.h",
            f'#include "{self.foreign}/secret.txt"\n#pragma GCC plugin "{self.root}/evil.so"\n'
            f'__asm__(".incbin \\"{self.foreign}/secret.txt\\"");\nat::Tensor evil(const at::Tensor& x);\n',
        )

    # What would be read or written elsewhere

    def trap_links_to_foreign_files(self) -> None:
        self.link("derivatives_link.yaml", self.foreign / "secret.txt")
        self.link("derivatives_link2.yaml", "../foreign/derivatives.yaml")
        self.link("foreign-folder", self.foreign)
        self.link("report.json", self.foreign / "important.py")
        self.link("list.txt", self.foreign / "secret.txt")

    def trap_links_that_go_round(self) -> None:
        self.link("derivatives_loop.yaml", "derivatives_loop.yaml")
        (self.root / "loops").mkdir()
        for name in ("a", "b", "c"):
            self.link(f"loops/{name}", "../loops")

    def trap_pipe(self) -> None:
        (self.root / "pipes").mkdir()
        os.mkfifo(self.root / "pipes/derivatives.yaml")

    def trap_devices(self) -> None:
        (self.root / "devices").mkdir()
        self.link("devices/derivatives_zero.yaml", "/dev/zero")
        self.link("devices/derivatives_random.yaml", "/dev/urandom")
        self.link("devices/derivatives_tty.yaml", "/dev/tty")

    def trap_folder_with_the_name_of_a_file(self) -> None:
        (self.root / "folders/derivatives.yaml").mkdir(parents=True)

    def trap_manifest(self) -> None:
        self.write(
            "derivlint.json",
            '{"version": 1, "files": ["../foreign/important.py", "/etc/passwd", "derivatives.yaml", "tracked.yaml"]}\n',
        )

    def trap_planted_cache(self) -> None:
        evil = pickle.dumps(_Pickled(f"touch {self.canaries}/pickle"))
        for number in range(3):
            self.write(f".cache/derivlint/findings-{number:064x}", evil)
            self.write(f".cache/derivlint/header-{number:032x}.json", evil)
            self.write(f".cache/derivlint/verify/samples-{number}.pkl", evil)

    def trap_baseline(self) -> None:
        self.write(
            "baseline.json",
            '{"version": 1, "findings": [{"path": "../../etc/passwd\\n::error::INJECTED", "rule": "\\u001b[31m", '
            '"count": 99999999999999999999999999999999, "text": "\\ud800"}]}\n',
        )

    def trap_suppressions(self) -> None:
        self.write(
            "suppressed/derivatives.yaml",
            "# derivlint: ignore-file[undefined-name] harmless\n"
            + SIN.replace("()\n", "()  # derivlint: ignore[undefined-name] fine\n", 1),
        )

    # What would be too much

    def trap_yaml_bombs(self) -> None:
        lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
        self.write("bombs/derivatives_alias.yaml", "\n".join(lines) + "\n- *a11\n")
        self.write("bombs/derivatives_alias2.yaml", "- &x\n  name: *x\n  self: *x\n- {<<: *x, <<: *x}\n")
        self.write("bombs/derivatives_nested.yaml", "- " * 20_000 + "\n")
        self.write("bombs/derivatives_flow.yaml", "[" * 30_000 + "\n")
        self.write("bombs/derivatives_map.yaml", "".join(" " * n + "a:\n" for n in range(300)))

    def trap_formula_bombs(self) -> None:
        for name, formula in (
            ("brackets", "(" * 5000 + "grad" + ")" * 5000),
            ("numbers", "grad * " + "9" * 20_000),
            ("hex", "grad * 0x" + "f" * 20_000),
            ("words", "grad " * 5000),
            ("unclosed", "grad * self.f(" * 2000),
        ):
            self.write(f"bombs/derivatives_{name}.yaml", f"- name: sin(Tensor self) -> Tensor\n  self: {formula}\n")

    def trap_huge_file(self) -> None:
        (self.root / "huge").mkdir()
        with open(self.root / "huge/derivatives.yaml", "wb") as file:
            file.truncate(65 * 1024 * 1024)

    def trap_encodings(self) -> None:
        self.write("encodings/derivatives_bom.yaml", "\ufeff\ufeff" + SIN)
        self.write("encodings/derivatives_nul.yaml", SIN.replace("sefl", "se\x00fl"))
        self.write("encodings/derivatives_16.yaml", SIN.encode("utf-16"))
        self.write("encodings/derivatives_latin.yaml", SIN.encode() + b"# \xff\xfe\x80\n")
        self.write(
            "encodings/derivatives_marks.yaml", SIN + "# \u202e\u2066 \u2028::error::INJECTED\n# \x85::error::X\n"
        )
        self.write(
            "encodings/derivatives_escapes.yaml",
            '- name: "\\e[31m\\n::error::INJECTED"\n  "\\u2028": "grad\\n::error::INJECTED\\x07"\n'
            '- name: "sin(Tensor self) -> Tensor"\n  "se\\nlf\\u202e": "##vso[task.setvariable variable=INJECTED]x"\n'
            "##[error]INJECTED\n::error::INJECTED: 1\n",
        )

    def trap_names(self) -> None:
        names = (
            "derivatives\n::error::INJECTED.yaml", "derivatives\x1b[31m\x07.yaml", "derivatives\u202e\u2028.yaml",
            "derivatives --fix.yaml", "derivatives'; touch x; '.yaml", "derivatives$(touch x).yaml",
            "derivatives##vso[a]INJECTED.yaml", "derivatives%0A::error::INJECTED.yaml",
        )  # fmt: skip
        for name in names:
            self.write(f"names/{name}", SIN)
        for folder in ("::error::INJECTED", "--fix", "-", "@list", " ::warning::INJECTED", "a\n##[error]INJECTED"):
            self.write(f"names/{folder}/derivatives.yaml", SIN)
        try:
            Path(os.fsdecode(os.fsencode(self.root) + b"/names/derivatives\xff.yaml")).write_text(SIN)
        except OSError:
            # file systems that have only UTF-8
            return

    def _git(self, *arguments: str) -> None:
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", "-C", str(self.root), *arguments], check=True, env=environment, capture_output=True)


class _Pickled:
    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (self.command,)


def build(folder: Path) -> Hostile:
    """Build the repository in an empty folder."""
    builder = Builder(folder)
    builder.write("derivatives.yaml", SIN + COS)
    names = [name for name in dir(Builder) if name.startswith("trap_")]
    # git adds what is there, which need not be everything
    for name in sorted(names, key=lambda name: "git" not in name):
        getattr(builder, name)()
    return Hostile(builder.root, builder.foreign, builder.canaries, (*names, *CONFIGURATIONS))


def configurations(hostile: Hostile) -> Iterator[tuple[str, str]]:
    """Configurations that the repository may have, each with its name; what they name is there."""
    for name, text in CONFIGURATIONS.items():
        yield name, text.replace("FOREIGN", str(hostile.foreign)).replace("ROOT", str(hostile.root))


#: The content of ``derivlint.toml``; each is a trap.
CONFIGURATIONS = {
    "escapes in a key": '"a\\u001b[31m\\n::error::INJECTED" = 1\n',
    "escapes in values": 'select = ["\\u001b[31m\\n::error::INJECTED"]\ntorch = "\\r::error::INJECTED"\n',
    "unknown rules": "ignore = [" + ", ".join(f'"rule-{number}"' for number in range(5000)) + "]\n",
    "a pattern that is a bomb": f'exclude = ["{"*a" * 100}b"]\nper-file-ignores = {{ "{"**/a" * 60}" = ["ALL"] }}\n',
    "a pattern of rules that is a bomb": f'ignore = ["{"*e" * 40}x"]\n',
    "a pattern of operators that is a bomb": f'per-operator-ignores = {{ "{"*s" * 60}x" = ["ALL"] }}\n',
    "paths outside": 'paths = ["../foreign", "FOREIGN/derivatives.yaml", "/etc/**/*.yaml", "foreign-folder"]\n',
    "headers outside": 'headers = ["/etc/passwd", "../foreign/secret.txt", "foreign-folder/secret.txt"]\n',
    "native functions outside": 'native-functions = ["FOREIGN/secret.txt"]\ntags = "/etc/passwd"\n',
    "a baseline outside": 'baseline = "FOREIGN/important.py"\n',
    "a hostile baseline": 'baseline = "baseline.json"\n',
    "a pipe for headers": 'headers = ["pipes/derivatives.yaml"]\nbaseline = "pipes/derivatives.yaml"\n',
    "a device for headers": 'headers = ["devices/derivatives_zero.yaml"]\n',
    "a compiler": 'compiler = "ROOT/compiler"\ncxx = "ROOT/compiler"\n',
    "a file to write": 'fix = true\noutput-file = "FOREIGN/important.py"\n',
    "everything off": 'ignore = ["ALL"]\nfail-level = "error"\nmin-severity = "error"\nseverity = { ALL = "off" }\n',
    "every file left out": 'exclude = ["*"]\nforce-exclude = true\n',
    "every operator left out": 'per-operator-ignores = { "*" = ["ALL"] }\nper-file-ignores = { "*" = ["ALL"] }\n',
    "another layout": 'entries-key = "nothing"\nversion = "none"\nignored-keys = ["self", "result"]\n',
    "another file": 'torch = "installed"\n',
    "deep tables": f"{'a.' * 900}a = 1\n[{'b.' * 900}b]\n",
    "a deeper key": f"{'a.' * 100_000}a = 1\n",
    "deep arrays": f"x = {'[' * 5000}{']' * 5000}\n",
    "many keys": "".join(f"key{number} = {number}\n" for number in range(10_000)),
    "a huge number": f"x = {'9' * 100_000}\n",
    "a huge file": "# " + "x" * 1_000_000 + "\n",
    "not UTF-8": "x = '\ud800'\n",
    "not TOML": "\x1b[31m = \x00\n::error::INJECTED\n",
}


def snapshot(*folders: Path) -> dict[str, tuple[object, ...]]:
    """What is in folders: kind, permissions and content of everything, times of what is too large."""
    found: dict[str, tuple[object, ...]] = {}
    for folder in folders:
        for parent, names, files in os.walk(folder):
            for name in (*names, *files):
                path = os.path.join(parent, name)
                status = os.lstat(path)
                content: object = None
                if stat.S_ISLNK(status.st_mode):
                    content = os.readlink(path)
                elif stat.S_ISREG(status.st_mode):
                    small = status.st_size < 2**20
                    content = sha256(Path(path).read_bytes()).hexdigest() if small else status.st_mtime_ns
                found[path] = (status.st_mode, content)
    return found
