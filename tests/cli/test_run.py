"""``derivlint run``: programs with edited derivatives in the installed PyTorch.

The header and the libraries are compiled once, into pytest's cache; most tests share one edited formula.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from derivlint.cli.run import Program
from derivlint.compiler.gxx import FASTEST, find_compiler
from derivlint.project.errors import InputError

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="extensions are built on Linux only"),
    pytest.mark.skipif(not any(map(find_compiler, FASTEST)), reason="there is no C++ compiler"),
    pytest.mark.torch,
    pytest.mark.long,
]

STOCK = "- name: tanh(Tensor self) -> Tensor\n  self: tanh_backward(grad, result)\n  result: auto_element_wise\n"
DOUBLED = STOCK.replace("tanh_backward", "2 * tanh_backward")
#: Prints what the gradient of tanh is at zero, and ends with a status of its own.
PROGRAM = """\
import sys
import torch

x = torch.zeros(3, requires_grad=True)
y = x.tanh()
node = y.grad_fn
y.sum().backward()
print(x.grad.tolist(), sys.argv[1:], __name__, isinstance(node, torch.autograd.graph.Node), repr(type(node)))
sys.exit(len(sys.argv))
"""
#: Prints the nodes of a network, and whether all of them are emitted ones.
TRAINING = """\
import torch

model = torch.nn.Sequential(
    torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
inputs, targets = torch.randn(16, 4), torch.randn(16, 2)
nodes = {}
for step in range(20):
    optimizer.zero_grad()
    output = model(inputs)
    node = output.grad_fn
    while node is not None:
        nodes[node.name()] = type(node)
        following = [function for function, _ in node.next_functions if function is not None]
        node = next((function for function in following if "Accumulate" not in function.name()), None)
    torch.nn.functional.mse_loss(output, targets).backward()
    optimizer.step()
names = ["AddmmBackward0", "NativeLayerNormBackward0", "TanhBackward0"]
print(names, all(nodes[name] is not getattr(torch._C._functions, name) for name in names))
"""
SECONDS = re.compile(r"\d+\.\d s")


class Folder:
    """A folder with a derivatives file and a program, in which commands run."""

    def __init__(self, path: Path, cache: Path) -> None:
        self.path = path
        self.environment = {
            name: value for name, value in os.environ.items() if name not in ("CXX", "PYTHONDONTWRITEBYTECODE")
        } | {"DERIVLINT_CACHE_DIR": str(cache)}

    def command(self, *arguments: str) -> list[str]:
        """The command line."""
        return [sys.executable, "-m", "derivlint", "run", "derivatives.yaml", "--no-config", *arguments]

    def run(self, *arguments: str, **variables: str) -> tuple[int, str, list[str]]:
        """The status, the output and derivlint's own lines, without times."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.path,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        lines = [SECONDS.sub("S", line.removeprefix("derivlint: ")) for line in done.stderr.splitlines()]
        # lines of steps that take long, as often as the machine is slow
        return done.returncode, done.stdout, [line for line in lines if not re.search(r"\(\d+ s\)$", line)]


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Folder:
    """A folder in which the gradient of tanh is doubled."""
    assert request.config.cache is not None
    (tmp_path / "derivatives.yaml").write_text(DOUBLED)
    (tmp_path / "program.py").write_text(PROGRAM)
    return Folder(tmp_path, request.config.cache.mkdir("derivlint-run"))


def shown(gradient: float, arguments: list[str]) -> str:
    return f"{[gradient] * 3} {arguments} __main__ True <class 'TanhBackward0'>\n"


def test_a_program_runs_with_the_replacement(folder: Folder) -> None:
    """Its status, arguments and module are its own; after a comment and another folding nothing is compiled."""
    folder.run("--", "-c", "")
    text = "# a comment\n\n" + DOUBLED.replace(" tanh_backward", "\n    tanh_backward")
    (folder.path / "derivatives.yaml").write_text(text)
    status, output, lines = folder.run("--", "program.py", "a", "-x")
    assert (status, output) == (3, shown(2.0, ["a", "-x"]))
    assert [line for line in lines if line and not line.startswith((" ", "derivatives.yaml"))] == [
        "read the file in S",
        "replacing tanh",
        "checked the entries in S",
        "generated the code in S",
        "tanh: 5 kernels, ForeachTanhBackward0, TanhBackward0 (unchanged since the last run)",
        "ready in S",
        "loaded the replacement in S",
    ]


def test_modules_code_and_errors_are_run_as_python_runs_them(folder: Folder) -> None:
    """A module of the current folder, and code whose traceback has no frames of ours."""
    status, output, _ = folder.run("--quiet", "--", "-m", "program", "a")
    assert (status, output) == (2, shown(2.0, ["a"]))
    code = "import sys; print(sys.argv, sys.path[0], 'torch' in sys.modules)\ndef f(): 1 / 0\nf()"
    status, output, lines = folder.run("--quiet", "--", "-c", code, "b")
    assert (status, output) == (1, "['-c', 'b']  True\n")
    assert lines[-4:] == [
        "Traceback (most recent call last):",
        '  File "<string>", line 3, in <module>',
        '  File "<string>", line 2, in f',
        "ZeroDivisionError: division by zero",
    ]


def test_a_comparison_names_what_differs(folder: Folder) -> None:
    """The first run is on stock, and prints nothing on standard output."""
    status, output, lines = folder.run("--compare", "--", "program.py")
    assert (status, output) == (1, shown(2.0, []))
    assert lines[-6:] == [
        "running on stock first",
        "ran on stock in S",
        "on stock the program ends with status 1",
        "loaded the replacement in S",
        "backward 1, gradient 0: stock 1.0, here 2.0 at [0]",
        "1 call of backward and grad: 1 of 2 losses and gradients equal stock's bit for bit",
    ]


def test_training_is_the_same_bit_for_bit(folder: Folder, derivatives_path: Path) -> None:
    """Twenty steps with emitted kernels of PyTorch's own formulas: no loss and no gradient differs."""
    shutil.copy(derivatives_path, folder.path / "derivatives.yaml")
    (folder.path / "train.py").write_text(TRAINING)
    status, output, lines = folder.run("--ops", "tanh,addmm,native_layer_norm", "--compare", "--", "train.py")
    assert status == 0
    assert output == "['AddmmBackward0', 'NativeLayerNormBackward0', 'TanhBackward0'] True\n"
    assert lines[-1] == "20 calls of backward and grad: 140 of 140 losses and gradients equal stock's bit for bit"


def test_what_does_not_differ_runs_on_stock(folder: Folder) -> None:
    (folder.path / "derivatives.yaml").write_text(f"# not an edit\n{STOCK}")
    status, output, lines = folder.run("--", "program.py")
    assert (status, output) == (1, shown(1.0, []))
    assert lines == [
        "read the file in S",
        'no entry of "derivatives.yaml" differs from the installed PyTorch; running on stock',
    ]


def test_an_error_of_the_compiler_points_into_the_yaml(folder: Folder) -> None:
    """Nothing runs."""
    text = STOCK.replace("tanh_backward(grad, result)", "grad * no_such(result)")
    (folder.path / "derivatives.yaml").write_text(text)
    status, output, lines = folder.run("--", "program.py")
    assert (status, output) == (2, "")
    assert any(line.startswith("derivatives.yaml:2:16: error: the compiler rejects") for line in lines), lines
    assert lines[-1] == "tanh does not compile"


def test_without_a_compiler_the_missing_ones_are_named(folder: Folder, tmp_path: Path) -> None:
    status, output, lines = folder.run("--", "program.py", PATH=str(tmp_path / "nothing"))
    assert (status, output) == (2, "")
    assert lines[-1] == "tanh: no C++ compiler: neither clang++ nor g++ can be run; install one of them"


def test_a_file_of_another_release_is_refused(folder: Folder) -> None:
    """Most of its entries would differ; named operators are replaced."""
    schema = "_flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, "
    schema += "SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, bool return_debug_mask, *, "
    schema += "float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None, "
    schema += "Tensor? seqused_k=None, Tensor? alibi_slopes=None) -> (Tensor output, Tensor softmax_logsumexp, "
    schema += "Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)"
    (folder.path / "derivatives.yaml").write_text(f"{DOUBLED}- name: {schema}\n  query: grad\n")
    status, output, lines = folder.run("--", "program.py")
    assert (status, output) == (2, "")
    assert re.fullmatch(
        r'"derivatives\.yaml" is a file of PyTorch 2\.\d+\.\d+, and 2\.\d+\.\d+ is installed; '
        "name the operators to replace with --ops",
        lines[-1],
    )
    status, output, lines = folder.run("--ops", "tanh", "--", "program.py")
    assert (status, output) == (1, shown(2.0, [])), lines


def test_an_operator_that_pytorch_lacks_is_refused(folder: Folder) -> None:
    (folder.path / "ops.yaml").write_text("- func: my_scale(Tensor self, float factor) -> Tensor\n")
    (folder.path / "derivatives.yaml").write_text(
        "- name: my_scale(Tensor self, float factor) -> Tensor\n  self: grad * factor\n"
    )
    status, output, lines = folder.run("--native-functions", "ops.yaml", "--", "program.py")
    assert (status, output) == (2, "")
    assert re.fullmatch(r'the installed PyTorch 2\.\d+\.\d+ has no operator "my_scale"', lines[-1])


def test_two_runs_at_once_share_what_they_compile(folder: Folder) -> None:
    (folder.path / "derivatives.yaml").write_text(STOCK.replace("tanh_backward", f"{time.time_ns()} * tanh_backward"))
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(folder.run, ["--quiet"] * 2, ["--"] * 2, ["program.py"] * 2)
    assert first == second
    assert first[0] == 1


def test_programs_are_named_as_for_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other words are refused before anything is compiled."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").touch()
    assert Program.read([]) == Program()
    assert Program.read(["program.py", "-m", "x"]) == Program("file", "program.py", ("-m", "x"))
    assert Program.read(["-m", "pytest", "-q"]) == Program("module", "pytest", ("-q",))
    assert Program.read(["-c", "pass"]) == Program("code", "pass")
    for words, message in {
        ("-m",): '"-m" needs a module',
        ("-c",): '"-c" needs code',
        ("-i",): '"-i" is not a program; name a .py file, -m MODULE or -c CODE',
        ("missing.py",): 'no program "missing.py"; name a .py file, -m MODULE or -c CODE',
    }.items():
        with pytest.raises(InputError) as raised:
            Program.read(words)
        assert raised.value.messages == (message,)


@pytest.fixture
def watching(folder: Folder, interruptible: None) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        folder.command("--quiet", "--watch", "--", "program.py"),
        cwd=folder.path,
        env=folder.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_a_watched_program_runs_again_after_an_edit(folder: Folder, watching: subprocess.Popen[str]) -> None:
    """Until Ctrl-C, whatever cannot be compiled in between."""
    assert watching.stdout is not None
    assert watching.stderr is not None
    assert watching.stdout.readline() == shown(2.0, [])
    for text in (DOUBLED.replace("result)", "result"), STOCK):
        while "watching" not in watching.stderr.readline():
            pass
        time.sleep(0.05)
        (folder.path / "derivatives.yaml").write_text(text)
    assert watching.stdout.readline() == shown(1.0, [])
    watching.send_signal(signal.SIGINT)
    assert watching.wait(timeout=600) == 130
