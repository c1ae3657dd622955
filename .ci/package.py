"""Builds the source distribution and the wheel into a folder, and tries both as someone who has nothing else.

    python .ci/package.py DIST

The source distribution has every file of the repository. Every link and picture of its pages, and of the description
for the package index, leads to one of them. README's first command runs in the unpacked source distribution. The
commands of its quick starts, of the tutorial and of the guides run from the wheel, without PyTorch: one that needs it
has to say so, with exit status 2; the others exit with 0, or with 1 where they find something.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The folder that each quick start is run in, below the unpacked source distribution.
FOLDERS = {
    "You work on PyTorch": None,  # one made like a checkout
    "You keep an out-of-tree back end": "examples/backend",
    "You write custom operators": "examples/custom_ops",
}
#: A message that names the lack of PyTorch.
LACK = re.compile(r"PyTorch|torch")
LINK = re.compile(r"\]\((?!https?://|#)([^)\s#]+)")
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def without_code(text: str) -> str:
    """A page without its code, which may have brackets."""
    return re.sub(r"^ *```.*?^ *```$|``.*?``|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)


def quietly(*command: str) -> None:
    """Run a module of Python without its output."""
    subprocess.run([sys.executable, "-m", *command], check=True, stdout=subprocess.DEVNULL)


def missing_files(source: Path) -> Iterator[str]:
    """The files of the repository that the unpacked source distribution lacks: README's commands work in both alike."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.split("\0"):
        if not (source / name).exists():
            yield f"not in the source distribution: {name}"


def broken_links(source: Path) -> Iterator[str]:
    """The links of pages that lead to no file of the unpacked source distribution."""
    for page in sorted(source.rglob("*.md")):
        for path in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
            if not (page.parent / path).exists():
                yield f"{page.relative_to(source)}: {path}"


def broken_addresses(description: str, address: str, source: Path) -> Iterator[str]:
    """The links of the description that lead nowhere below the project's address, or are relative."""
    text = without_code(description)
    yield from (f"description: {path} is relative" for path in LINK.findall(text))
    links = re.findall(rf"\]\({re.escape(address)}/(?:blob|raw)/main/([^)#]+)", text)
    if not links:
        yield "description: no links"
    yield from (f"description: {path}" for path in links if not (source / path).exists())


def commands(readme: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of each quick start that are derivlint's own, by its title."""
    for section in readme.partition("\n## Quick starts\n")[2].partition("\n## ")[0].split("\n### ")[1:]:
        for line in "".join(BLOCK.findall(section)).splitlines():
            words = shlex.split(line, comments=True)
            if words[0] == "derivlint":
                yield section.partition("\n")[0], words


def guide_commands(source: Path) -> Iterator[tuple[str, list[str]]]:
    """The commands of the guides that can be run as they stand, by the guide's name."""
    for guide in sorted((source / "docs/guides").glob("*.md")):
        for line in "".join(BLOCK.findall(guide.read_text(encoding="utf-8"))).splitlines():
            # not those that wait for a client, or have variables, placeholders and files of the reader
            if line.startswith("derivlint ") and re.search(r"[$|]|\.\.\.|DIR|csrc/|--tcp", line) is None:
                yield guide.name, shlex.split(line.partition(" > ")[0], comments=True)


def make_checkout(folder: Path, source: Path) -> None:
    """Make a repository with a derivatives file where PyTorch has its own, and a branch ``main``."""
    (folder / "tools/autograd").mkdir(parents=True)
    shutil.copy(source / "src/derivlint/examples/derivatives.yaml", folder / "tools/autograd/derivatives.yaml")
    author = ("-c", "user.name=a", "-c", "user.email=a@b")
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), (*author, "commit", "-qm", "main")):
        subprocess.run(["git", *arguments], cwd=folder, check=True)


def tutorial(page: str, folder: Path) -> Iterator[list[str]]:
    """Write the files that the tutorial shows into an empty folder; return its commands, in their order."""
    names = ("native_functions", "1-first-attempt", "2-compiles", "known", "3-correct", "4-twice")
    folder.mkdir()
    for name, text in zip(names, re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE), strict=True):
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    yield from (shlex.split(line) for line in re.findall(r"^\$ (derivlint .*)$", page, re.MULTILINE))


def failures_of_wheel(wheel: Path, source: Path, folder: Path) -> Iterator[str]:
    """Run the quick starts from the wheel in a bare environment."""
    venv.create(folder / "venv", with_pip=True)
    pip = [str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, str(wheel)], check=True)
    environment = {"PATH": f"{folder / 'venv/bin'}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    runs = []
    for number, (title, command) in enumerate(commands((source / "README.md").read_text(encoding="utf-8"))):
        work = folder / str(number)
        example = FOLDERS[title]
        if example is None:
            make_checkout(work, source)
        else:
            shutil.copytree(source / example, work)
        runs.append((work, command))
    for name, command in guide_commands(source):
        work = folder / name
        if not work.exists():
            make_checkout(work, source)
            shutil.copy(source / "examples/custom_ops/my_ops.yaml", work)
            shutil.copy(source / "examples/custom_ops/derivatives.yaml", work)
        runs.append((work, command))
    empty = folder / "tutorial"
    runs += [(empty, command) for command in tutorial((source / "docs/tutorial.md").read_text("utf-8"), empty)]
    for work, command in runs:
        process = subprocess.run(
            command, cwd=work, env=environment, input="", capture_output=True, text=True, check=False
        )
        lacks = process.returncode == 2 and LACK.search(process.stderr) is not None
        print(f"{process.returncode} {shlex.join(command)}{' (needs PyTorch)' if lacks else ''}")
        if (process.returncode not in (0, 1) and not lacks) or "Traceback" in process.stderr:
            yield f"{shlex.join(command)}\n{process.stderr}"


def main(distributions: Path) -> None:
    """Build into a folder, and try.

    Raises:
        SystemExit: a link is broken, or a command fails for another reason than the lack of PyTorch.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        quietly("build", "--outdir", str(distributions), str(ROOT))
        (archive,), (wheel,) = distributions.glob("*.tar.gz"), distributions.glob("*.whl")
        quietly("twine", "check", "--strict", str(archive), str(wheel))
        quietly("pyroma", "--min=10", str(archive))
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
        source = folder / archive.name.removesuffix(".tar.gz")
        with zipfile.ZipFile(wheel) as zipped:
            (name,) = (name for name in zipped.namelist() if name.endswith(".dist-info/METADATA"))
            metadata = message_from_bytes(zipped.read(name))
        address = dict(url.split(", ", 1) for url in metadata.get_all("Project-URL", []))["Homepage"]
        failing = [
            *missing_files(source),
            *broken_links(source),
            *broken_addresses(str(metadata.get_payload()), address, source),
        ]
        first, *_ = BLOCK.findall((source / "README.md").read_text(encoding="utf-8"))
        process = subprocess.run(first, cwd=source, shell=True, capture_output=True, text=True, check=False)
        if process.returncode != 1 or "[undefined-name]" not in process.stdout:
            failing.append(f"README's first command in the source distribution:\n{process.stdout}{process.stderr}")
        failing += failures_of_wheel(wheel, source, folder)
    if failing:
        raise SystemExit("\n".join(failing))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
