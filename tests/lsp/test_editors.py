"""The editors: what the guide says to write into their configurations, and the real ones as far as they are here.

Neovim comes from PATH or from beside the Python that runs the tests (a wheel can bring it there), Emacs from PATH;
where there is none, or one that is too old, its tests are skipped.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from derivlint import __version__
from derivlint.cli.main import cli
from derivlint.project.settings import SettingsOfFiles

pytestmark = pytest.mark.long

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).parents[2]
EDITORS = REPOSITORY / "editors"
GUIDE = REPOSITORY / "docs" / "guides" / "editors.md"
EXAMPLE = REPOSITORY / "examples" / "derivatives.yaml"

#: What the server reads of its initialization options.
OPTIONS = {"config", "inlayHints", "trusted", "showGeneratedCode"}


def sections() -> dict[str, list[tuple[str, str]]]:
    """The fenced blocks of the guide by their headings: language and text."""
    found: dict[str, list[tuple[str, str]]] = {}
    for section in re.split(r"^## ", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE):
        heading = section.partition("\n")[0]
        found[heading] = re.findall(r"^```(\w+)\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    return found


def blocks(heading: str, language: str) -> list[str]:
    """The blocks of one language below a heading."""
    return [text for lang, text in sections()[heading] if lang == language]


def accepts(command: list[str]) -> None:
    """Read a command line as derivlint does, without running it.

    Raises:
        click.UsageError: derivlint refuses it.
    """
    assert command[0] == "derivlint"
    context = click.Context(cli, info_name="derivlint")
    subcommand = cli.get_command(context, command[1])
    assert subcommand is not None
    subcommand.make_context(command[1], command[2:], parent=context).close()


def takes(options: dict[str, Any], folder: Path) -> None:
    """Check initialization options against what the server reads."""
    assert set(options) <= OPTIONS
    SettingsOfFiles(False, tuple(options.get("config", ()))).of_folder(folder)


def shell_lines() -> Iterator[str]:
    """The command lines of derivlint in the guide."""
    for found in sections().values():
        for language, text in found:
            if language == "sh":
                yield from (line for line in text.splitlines() if line.startswith("derivlint "))


def test_commands_of_the_guide_are_accepted() -> None:
    lines = list(shell_lines())
    assert len(lines) == 3
    for line in lines:
        accepts(shlex.split(line))


@pytest.mark.parametrize("option", ["--port", "--socket=1", "file.yaml"])
def test_what_is_no_option_would_be_noticed(option: str) -> None:
    with pytest.raises(click.UsageError):
        accepts(["derivlint", "lsp", option])


def test_inline_commands_of_the_guide_are_accepted() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    commands = {command for command in re.findall(r"`(derivlint [^`]*)`", text) if "--version" not in command}
    assert {"derivlint lsp", "derivlint lsp --stdio", "derivlint check --show-settings FILE"} <= commands
    for command in commands:
        accepts(command.split())


def test_helix(tmp_path: Path) -> None:
    [text] = blocks("Helix", "toml")
    configuration = tomllib.loads(text)
    server = configuration["language-server"]["derivlint"]
    accepts([server["command"], *server["args"]])
    takes(server["config"], tmp_path)
    assert "derivlint" in configuration["language"][0]["language-servers"]


def test_sublime_text(tmp_path: Path) -> None:
    [text] = blocks("Sublime Text", "json")
    server = json.loads(text)["clients"]["derivlint"]
    accepts(server["command"])
    takes(server["initializationOptions"], tmp_path)


def test_kate(tmp_path: Path) -> None:
    [text] = blocks("Kate", "json")
    server = json.loads(text)["servers"]["yaml"]
    accepts(server["command"])
    takes(server["initializationOptions"], tmp_path)


def test_vscode_settings_exist() -> None:
    manifest = json.loads((EDITORS / "vscode" / "package.json").read_text(encoding="utf-8"))
    known = set(manifest["contributes"]["configuration"]["properties"])
    [text] = blocks("Visual Studio Code", "json")
    assert set(json.loads(text)) <= known
    readme = (EDITORS / "vscode" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(derivlint\.[\w.]+)`", readme, re.MULTILINE)) == known


def test_vscode_has_the_version_of_derivlint() -> None:
    manifest = json.loads((EDITORS / "vscode" / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((EDITORS / "vscode" / "package-lock.json").read_text(encoding="utf-8"))
    assert manifest["version"] == lock["version"] == __version__
    assert f"derivlint-{__version__}.vsix" in GUIDE.read_text(encoding="utf-8")


def test_vscode_has_the_license() -> None:
    assert (EDITORS / "vscode" / "LICENSE").read_bytes() == (REPOSITORY / "LICENSE").read_bytes()


def test_vscode_starts_and_asks_what_derivlint_knows() -> None:
    sources = {path.name: path.read_text(encoding="utf-8") for path in (EDITORS / "vscode" / "src").glob("*.ts")}
    [arguments] = re.findall(r"command: settings\.path, args: (\[.*?\])", sources["client.ts"])
    accepts(["derivlint", *json.loads(arguments)])
    options = re.findall(r'"(show|--[\w-]+|--|-)"', sources["generated.ts"])
    assert options == ["show", "--stdin-filename", "--config", "--", "-"]
    accepts(
        ["derivlint", "show", "--stdin-filename", str(EXAMPLE), "--config", 'min-severity="error"', "--", "mm", "-"]
    )


# The real editors.


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with a derivatives file, another YAML file and a configuration."""
    autograd = tmp_path / "check out" / "tools" / "autograd"
    autograd.mkdir(parents=True)
    shutil.copy(EXAMPLE, autograd / "derivatives.yaml")
    (autograd / "other.yaml").write_text("- name: job\n", encoding="utf-8")
    (tmp_path / "check out" / "derivlint.toml").write_text("", encoding="utf-8")
    return tmp_path / "check out"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment where ``derivlint`` is a program, and no one's own configuration counts."""
    programs = tmp_path / "bin"
    programs.mkdir()
    script = programs / "derivlint"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m derivlint "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    path = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "HOME": str(home), "XDG_STATE_HOME": str(home)}


def checked(path: Path, *options: str) -> set[tuple[int, int, str]]:
    """What ``derivlint check`` finds: lines and columns from 0, and rules."""
    command = [sys.executable, "-m", "derivlint", "check", "--output-format", "json", "--exit-zero", *options]
    result = subprocess.run([*command, str(path)], capture_output=True, text=True, check=True, cwd=path.parent)
    return {
        (item["start"]["line"] - 1, item["start"]["column"] - 1, item["rule"])
        for item in json.loads(result.stdout)["diagnostics"]
    }


def neovim() -> str | None:
    """Neovim 0.11 or newer."""
    beside = Path(sys.executable).with_name("nvim")
    program = str(beside) if beside.exists() else shutil.which("nvim")
    if program is None:
        return None
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"NVIM v(\d+)\.(\d+)", answer)
    return program if version and (int(version[1]), int(version[2])) >= (0, 11) else None


#: Opens the files and prints what is in them, before and after an edit.
DRIVER = r"""
local function findings()
  local found = {}
  for _, item in ipairs(vim.diagnostic.get(0)) do
    table.insert(found, { item.lnum, item.col, item.code })
  end
  return found
end

local function settled(before)
  return vim.wait(300000, function()
    local now = #vim.diagnostic.get(0)
    return now > 0 and now ~= before
  end, 20)
end

local out = {}
vim.cmd.edit('tools/autograd/other.yaml')
vim.wait(200)
out.other = #vim.lsp.get_clients({ bufnr = 0 })
vim.cmd.edit('tools/autograd/derivatives.yaml')
settled(0)
out.findings = findings()
-- none come where they are not wanted
local patience = vim.lsp.inlay_hint.is_enabled() and 100000 or 500
vim.wait(patience, function() return #vim.lsp.inlay_hint.get({ bufnr = 0 }) > 0 end, 20)
out.hints = #vim.lsp.inlay_hint.get({ bufnr = 0 })
local client = vim.lsp.get_clients({ bufnr = 0 })[1]
out.root = client and client.root_dir
-- line 13, "  slef: grad * ..."
vim.api.nvim_buf_set_text(0, 12, 2, 12, 6, { 'self' })
settled(#out.findings)
out.edited = findings()
local position = { line = 6, character = 9 }
local params = { textDocument = vim.lsp.util.make_text_document_params(0), position = position }
local hover = client and client:request_sync('textDocument/hover', params, 100000, 0)
out.hover = hover and hover.result and hover.result.contents.value
vim.lsp.codelens.refresh({ bufnr = 0 })
vim.wait(100000, function() return #vim.lsp.codelens.get(0) > 0 end, 20)
vim.api.nvim_win_set_cursor(0, { 7, 8 })
vim.lsp.codelens.run()
vim.wait(100000, function() return vim.bo.filetype == 'cpp' end, 20)
out.shown = { vim.bo.filetype, vim.bo.buftype, table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') }
io.stdout:write(vim.json.encode(out) .. '\n')
vim.cmd('qa!')
"""


def run_neovim(folder: Path, environment: dict[str, str], setup: list[str]) -> dict[str, Any]:
    """What the driver prints, with the configuration of the repository and what the guide says to write."""
    program = neovim()
    if program is None:
        pytest.skip("no Neovim 0.11 or newer")
    script = folder / "driver.lua"
    script.write_text("\n".join([*setup, DRIVER]), encoding="utf-8")
    runtime = str(EDITORS / "nvim").replace(" ", "\\ ")
    command = [program, "--clean", "--headless", "--cmd", f"set runtimepath^={runtime}", "-c", "luafile driver.lua"]
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    answer = [line for line in result.stdout.splitlines() if line.startswith("{")]
    assert len(answer) == 1, result.stdout + result.stderr
    found = json.loads(answer[0])
    assert isinstance(found, dict)
    return found


def as_set(findings: Any) -> set[tuple[int, int, str]]:
    return {(int(line), int(column), str(code)) for line, column, code in findings}


def test_neovim_shows_what_check_finds_as_it_changes(checkout: Path, environment: dict[str, str]) -> None:
    enable = blocks("Neovim", "lua")[0]
    out = run_neovim(checkout, environment, [enable])
    path = checkout / "tools" / "autograd" / "derivatives.yaml"
    expected = checked(path)
    assert as_set(out["findings"]) == expected
    assert (12, 2, "unknown-key") in expected
    path.write_text(path.read_text(encoding="utf-8").replace("slef", "self"), encoding="utf-8")
    assert as_set(out["edited"]) == checked(path) == expected - {(12, 2, "unknown-key")}
    assert out["root"] == str(checkout)
    assert "sinh(Tensor self) -> Tensor" in out["hover"]
    filetype, buftype, code = out["shown"]
    assert (filetype, buftype) == ("cpp", "nofile")
    assert "struct NODE_CLASS SinhBackward0" in code
    # other YAML is left alone, and hints come where they are wanted
    assert (out["other"], out["hints"]) == (0, 0)


#: Prints the root of a file.
ROOT = r"""
vim.cmd.edit('tools/autograd/derivatives.yaml')
vim.wait(30000, function() return #vim.lsp.get_clients({ bufnr = 0 }) > 0 end, 20)
io.stdout:write(vim.json.encode({ root = vim.lsp.get_clients({ bufnr = 0 })[1].root_dir }) .. '\n')
vim.cmd('qa!')
"""


@pytest.mark.parametrize(
    ("files", "root"),
    [
        (["aten/src/ATen/native/native_functions.yaml", "tools/pyproject.toml"], ""),
        (["pyproject.toml", "tools/.git/HEAD"], ""),
        (["tools/derivlint.toml", "pyproject.toml"], "tools"),
        ([".git/HEAD"], ""),
        ([], "tools/autograd"),
    ],
)
def test_neovim_finds_the_root(
    tmp_path: Path, environment: dict[str, str], files: list[str], root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "some" / "repository"
    for name in ("tools/autograd/derivatives.yaml", *files):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("", encoding="utf-8")
    monkeypatch.setitem(globals(), "DRIVER", ROOT)
    out = run_neovim(folder, environment, blocks("Neovim", "lua")[:1])
    assert out["root"] == str(folder / root)


def test_neovim_passes_options_on(checkout: Path, environment: dict[str, str]) -> None:
    enable, options = blocks("Neovim", "lua")
    path = checkout / "tools" / "autograd" / "derivatives.yaml"
    with path.open("a", encoding="utf-8") as file:
        file.write("\n- name: frac(Tensor self) -> Tensor\n  self: grad\n  result: self_t\n")
    out = run_neovim(checkout, environment, [options, enable])
    errors = checked(path, "--min-severity", "error")
    assert errors < checked(path)
    assert as_set(out["findings"]) == errors
    assert out["hints"] > 0


EMACS_DRIVER = r"""
(setq eglot-sync-connect 30)
(find-file "tools/autograd/derivatives.yaml")
;; eglot waits for the end of a command, and batch mode has none
(unless (eglot-current-server) (apply #'eglot--connect (eglot--guess-contact)))
(let ((left 300))
  (while (and (> left 0) (null (flymake-diagnostics)))
    (accept-process-output nil 0.1)
    (setq left (1- left))))
(princ (format "%s %d\n" major-mode (length (flymake-diagnostics))))
(kill-emacs 0)
"""


def test_emacs_shows_as_many_findings_as_check(checkout: Path, environment: dict[str, str]) -> None:
    needed = "(progn (package-initialize) (require 'eglot) (require 'yaml-mode))"
    program = shutil.which("emacs")
    if program is None or subprocess.run([program, "--batch", "--eval", needed], capture_output=True).returncode != 0:
        pytest.skip("no Emacs with eglot and yaml-mode")
    [snippet] = blocks("Emacs", "elisp")
    script = checkout / "driver.el"
    script.write_text(f"{needed}\n{snippet}{EMACS_DRIVER}", encoding="utf-8")
    result = subprocess.run(
        [program, "--batch", "--load", str(script)],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    expected = len(checked(checkout / "tools" / "autograd" / "derivatives.yaml"))
    assert result.stdout == f"derivatives-mode {expected}\n", result.stderr
