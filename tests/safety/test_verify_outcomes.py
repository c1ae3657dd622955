"""``derivlint verify`` has three outcomes: right, wrong, and not checked. What was not checked is never right."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from derivlint.compiler import children
from derivlint.verify import runner
from derivlint.verify.processes import process, recordings, workdir
from derivlint.verify.unchecked import SkipReason, StoppedError
from tests.safety.verify_faults import fork_children
from tests.safety.verifying import Place, place_in
from tests.sampling import sample

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="children are forked with means of Linux"),
    pytest.mark.forks,
]

#: What happens to the process that checks an operator, and what is said of the operator.
MISHAPS = {
    "kill": ("killed", "the process was killed (SIGKILL), as the system does where memory runs out"),
    "exhaust": ("out-of-memory", "memory ran out"),
    "abort": ("out-of-memory", "memory ran out: terminate called after throwing an instance of 'std::bad_alloc'"),
    "spin": ("timed-out", "it took more than 1 seconds of processor time"),
    "sleep": ("hung", "it waits for something, and uses no processor time"),
    "leave": ("failed", "the process ended with exit status 7: \\x1b[31mfarewell"),
    "fail": ("failed", "the checks themselves fail: KeyError: 'what'"),
}
#: The operators on lists that share the formulas; no inputs of them are recorded.
ON_LISTS = ("_foreach_exp", "_foreach_sin", "_foreach_cos")
WITHOUT_INPUTS = dict.fromkeys(ON_LISTS, "no-inputs")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Three right entries with recorded inputs, and children that are forks of this process."""
    fork_children(monkeypatch)
    return place_in(tmp_path)


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Have operators meet with mishaps, which the variable ``MISHAPS`` names."""
    monkeypatch.setattr(process, "MODULE", "tests.safety.odd_server")
    monkeypatch.setattr(runner, "PROCESSOR", 1.0)
    monkeypatch.setattr(runner, "IDLE", 3.0)
    return monkeypatch


def unchecked(stdout: str) -> dict[str, Any]:
    """What a report in JSON says was not checked, by operator."""
    return {item["entry"]: item for item in json.loads(stdout)["unchecked"]}


@pytest.mark.parametrize("mishap", sample(MISHAPS, 4, always=("kill", "spin", "leave")))
def test_an_entry_whose_check_ends_with_an_error_is_not_checked(
    place: Place, odd: pytest.MonkeyPatch, mishap: str
) -> None:
    """It is not a finding, the kind is named, the other entries are checked, and the status is not 0."""
    odd.setenv("MISHAPS", f"sin={mishap}")
    status, stdout, _ = place.verify("--all", "--output-format", "json")
    why, reason = MISHAPS[mishap]
    assert (status, json.loads(stdout)["diagnostics"]) == (4, [])
    assert list(unchecked(stdout)) == ["sin", *ON_LISTS]
    assert {name: unchecked(stdout)[name]["why"] for name in ON_LISTS} == WITHOUT_INPUTS
    assert (unchecked(stdout)["sin"]["why"], unchecked(stdout)["sin"]["key"]) == (why, None)
    assert unchecked(stdout)["sin"]["reason"].startswith(reason)
    summary = json.loads(stdout)["summary"]
    assert (summary["entries"], summary["unchecked"]) == (2, {why: 1, "no-inputs": 3})


def test_the_kinds_are_distinguished_in_text(place: Place, odd: pytest.MonkeyPatch) -> None:
    """Each entry with its reason, and counts of the kinds."""
    odd.setenv("MISHAPS", "sin=kill,cos=fail")
    status, stdout, stderr = place.verify("--all")
    assert (status, stdout) == (4, "no findings in 1 file (1 entry, 2 formulas)\n")
    assert f"derivlint: sin is not checked: {MISHAPS['kill'][1]}\n" in stderr
    assert f"derivlint: cos is not checked: {MISHAPS['fail'][1]}\n" in stderr
    kinds = r"1 killed, 1 failed, 3 without inputs"
    assert re.search(rf"1 entry checked with \d+ comparisons, 5 not checked \({kinds}\)\n", stderr)
    assert f"derivlint: not checked: 3 entries without inputs: {'; '.join(ON_LISTS)}\n" in stderr


def test_the_next_run_checks_what_was_not_checked(place: Place, odd: pytest.MonkeyPatch) -> None:
    """It goes on where the first one was, and nothing is left out because of that."""
    odd.setenv("MISHAPS", "server=kill")
    assert place.verify("--all")[0] == 4
    odd.setenv("MISHAPS", "cos=kill")
    assert place.verify("--all")[0] == 4
    odd.setenv("MISHAPS", "")
    status, stdout, stderr = place.verify("--all")
    assert (status, stdout) == (0, "no findings in 1 file (3 entries, 4 formulas)\n"), stderr


def test_a_crash_is_a_finding_and_findings_come_first(place: Place, odd: pytest.MonkeyPatch) -> None:
    """A formula that ends the process is wrong; with --exit-zero it still was not checked."""
    odd.setenv("MISHAPS", "sin=crash,cos=kill")
    status, stdout, _ = place.verify("--all", "--output-format", "json")
    assert status == 1
    assert [item["message"] for item in json.loads(stdout)["diagnostics"]] == [
        "checking this ended the process: SIGSEGV"
    ]
    assert {name: item["why"] for name, item in unchecked(stdout).items()} == {
        "sin": "crashed",
        "cos": "killed",
        **WITHOUT_INPUTS,
    }
    odd.setenv("MISHAPS", "sin=crash")
    assert place.verify("--all", "--exit-zero")[0] == 4


def test_a_crash_that_is_accepted_does_not_fail_the_whole_file(place: Place, odd: pytest.MonkeyPatch) -> None:
    """A comment says that it is known; who asks for the entry by name is still answered."""
    odd.setenv("MISHAPS", "sin=crash")
    path = place.folder / "derivatives.yaml"
    text = path.read_text()
    path.write_text(
        text.replace("  self: grad * self.cos", "  # derivlint: ignore[crash] known\n  self: grad * self.cos")
    )
    assert place.verify("--all")[0] == 0
    assert place.verify("--ops", "sin")[0] == 4


@pytest.mark.parametrize("mishap", ["kill", "leave", "sleep"])
def test_where_the_process_that_forks_ends_everything_left_is_not_checked(
    place: Place, odd: pytest.MonkeyPatch, mishap: str
) -> None:
    """Its own end is not the end of a report; the reason has what it said."""
    odd.setenv("MISHAPS", f"server={mishap}")
    odd.setattr(children, "HANG_PERIOD", 0.5)
    status, stdout, _ = place.verify("--all", "--output-format", "json")
    assert status == 4
    assert {item["why"] for item in unchecked(stdout).values()} == {MISHAPS[mishap][0]}
    assert sorted(unchecked(stdout)) == sorted(("cos", "exp", "sin", *ON_LISTS))


def test_lintrunner_and_sarif_hear_of_it(place: Place, odd: pytest.MonkeyPatch) -> None:
    """Formats whose readers do not look at the status or at standard error name it as well."""
    odd.setenv("MISHAPS", "sin=kill")
    status, stdout, _ = place.verify("--all", "--output-format", "lintrunner")
    assert status == 0
    assert "sin is not checked" in json.loads(stdout.splitlines()[0])["description"]
    status, stdout, _ = place.verify("--all", "--output-format", "sarif")
    (invocation,) = json.loads(stdout)["runs"][0]["invocations"]
    (said,) = invocation["toolExecutionNotifications"]
    assert (status, said["level"]) == (4, "error")
    assert said["message"]["text"].startswith("sin is not checked: ")


def test_an_entry_without_inputs_fails_only_who_asks_for_it(place: Place) -> None:
    """Of the whole file it is listed with the reason; by name it was asked for."""
    path = place.folder / "derivatives.yaml"
    path.write_text(path.read_text() + "\n- name: sqrt(Tensor self) -> Tensor\n  self: grad / (2 * result.conj())\n")
    status, stdout, stderr = place.verify("--all")
    assert (status, stdout) == (0, "no findings in 1 file (3 entries, 4 formulas)\n")
    names = "; ".join(("sqrt", *ON_LISTS, "_foreach_sqrt"))
    assert f"derivlint: not checked: 5 entries without inputs: {names}\n" in stderr
    assert "3 entries checked" in stderr
    status, stdout, stderr = place.verify("--ops", "sqrt,sin")
    assert status == 4
    assert "derivlint: sqrt is not checked: no inputs are known\n" in stderr


def test_a_formula_that_cannot_be_translated_is_not_right(place: Place) -> None:
    """Without a compiler it is not checked, although the other formula of the entry is."""
    path = place.folder / "derivatives.yaml"
    path.write_text(path.read_text().replace("result: auto_element_wise", "result: no_such_helper(self_t, result)"))
    status, stdout, _ = place.verify("--ops", "exp", "--output-format", "json")
    assert status == 4
    assert [(item["entry"], item["key"], item["why"]) for item in json.loads(stdout)["unchecked"]] == [
        ("exp", "result", "not-callable")
    ]


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


#: What becomes of a file of recorded inputs.
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut off": lambda data: data[: len(data) // 2],
    "one byte less": lambda data: data[:-1],
    "longer": lambda data: data + b"\0",
    "a bit flipped": lambda data: flipped(data, len(data) // 2),
    "the last bit flipped": lambda data: flipped(data, len(data) - 1),
    "a huge length": lambda data: data[:60] + b"\xff" * 8 + data[68:],
    "a pickle": lambda data: b"\x80\x05cposix\nsystem\n(S'touch pwned'\ntR.",
    "writable": bytes,
    "link": bytes,
}


@pytest.mark.parametrize("how", sample(DAMAGES, 5, always=("a huge length", "a pickle", "writable", "link")))
def test_damaged_inputs_are_recorded_again(place: Place, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """What is not what was written, or may have been written by others, is replaced."""
    place.samples.write_bytes(DAMAGES[how](place.samples.read_bytes()))
    if how == "writable":
        place.samples.chmod(0o666)
    elif how == "link":
        place.samples.symlink_to(place.samples.rename(place.samples.with_suffix(".other")))
    recorded: list[list[str]] = []

    def record(tasks: list[dict[str, Any]], progress: Any) -> None:
        recorded.extend(task["stems"] for task in tasks)
        place.record()

    monkeypatch.setattr(recordings, "_run_recorder", record)
    status, stdout, _ = place.verify("--ops", "sin")
    assert (status, stdout) == (0, "no findings in 1 file (1 entry, 1 formula)\n")
    (names,) = recorded
    assert names == ["sin"]
    assert not (place.folder / "pwned").exists()
    assert not place.samples.is_symlink()


@pytest.mark.parametrize("problem", ["ended", "full"])
def test_without_inputs_nothing_is_right(place: Place, monkeypatch: pytest.MonkeyPatch, problem: str) -> None:
    """A recording that fails is said with its reason, and nothing passes as checked."""
    place.samples.unlink()

    def record(tasks: list[dict[str, Any]], progress: Any) -> None:
        if problem == "full":
            raise OSError(28, "No space left on device")
        raise StoppedError(SkipReason.KILLED, "the process was killed (SIGKILL)")

    monkeypatch.setattr(recordings, "_run_recorder", record)
    status, stdout, stderr = place.verify("--all")
    reason = "No space left on device" if problem == "full" else "the process was killed (SIGKILL)"
    assert status == 4
    assert stdout == ""
    assert stderr.endswith("derivlint: nothing is checked: no formula was compared with anything\n")
    assert f"derivlint: sin is not checked: no inputs can be recorded: {reason}\n" in stderr


def test_what_the_recorder_says_is_part_of_the_message(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a traceback the last line."""
    place.samples.unlink()
    monkeypatch.setattr(recordings, "MODULE", "derivlint.no_such_module")
    status, _, stderr = place.verify("--ops", "sin")
    assert status == 4
    assert "exit status 1: ModuleNotFoundError: No module named 'derivlint.no_such_module'" in stderr


def test_without_a_cache_the_run_has_a_folder_of_its_own(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A temporary one that no one can foresee, and that is gone afterwards."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(workdir, "cache_folder", lambda: None)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    places = []

    def record(tasks: list[dict[str, Any]], progress: Any) -> None:
        (path,) = (Path(task["path"]) for task in tasks)
        places.append(path.parent)
        assert path.parent.parent == temporary
        assert path.parent.stat().st_mode & 0o777 == 0o700
        path.write_bytes(place.samples.read_bytes())
        path.chmod(0o600)

    monkeypatch.setattr(recordings, "_run_recorder", record)
    assert place.verify("--ops", "sin")[0] == 0
    assert place.verify("--ops", "sin")[0] == 0
    assert len(set(places)) == 2
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("what", ["folder", "link", "cache"])
def test_a_folder_of_others_is_not_used(place: Place, tmp_path: Path, what: str) -> None:
    """Neither the cache nor the folder in it may be one that others can write to, or be a link."""
    folder = place.cache / "verify"
    if what == "folder":
        # one that this user has made with another mode becomes private
        folder.chmod(0o775)
    elif what == "link":
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        place.cache.chmod(0o777)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DERIVLINT_CACHE_DIR", str(place.cache))
        with workdir.work_folder() as found:
            assert (found == folder) is (what == "folder")
            assert found.stat().st_mode & 0o777 == 0o700


def test_scripts_do_not_overwrite_what_derivlint_has_not_written(place: Place) -> None:
    """A file of that name is left alone, by name."""
    path = place.folder / "derivatives.yaml"
    path.write_text(path.read_text().replace("grad * self.cos()", "-grad * self.cos()"))
    scripts = place.folder / "scripts"
    assert place.verify("--ops", "sin", "--scripts", str(scripts))[0] == 1
    (script,) = scripts.iterdir()
    assert place.verify("--ops", "sin", "--scripts", str(scripts))[0] == 1
    script.write_text("mine\n")
    status, _, stderr = place.verify("--ops", "sin", "--scripts", str(scripts))
    assert status == 2
    assert f'"{script}" was not written by derivlint' in stderr
    assert script.read_text() == "mine\n"


def test_libraries_are_loaded_from_folders_of_this_user_only(tmp_path: Path) -> None:
    """Every folder from the library up to the place counts, each time."""
    library = tmp_path / "place" / "digest" / "build" / "library.so"
    library.parent.mkdir(parents=True, mode=0o700)
    for folder in library.parents[:3]:
        folder.chmod(0o700)
    library.touch(mode=0o600)
    top = tmp_path / "place"
    assert workdir.first_foreign_path(library, top) is None
    for each in (library, library.parent, library.parent.parent, top):
        mode = each.stat().st_mode
        each.chmod(mode | 0o020)
        assert workdir.first_foreign_path(library, top) == each
        each.chmod(mode)
    assert workdir.first_foreign_path(library, tmp_path / "another") == library
