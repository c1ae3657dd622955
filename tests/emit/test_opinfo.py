"""All emitted kernels at once, on PyTorch's own samples: what they do is what PyTorch's own kernels do.

PyTorch's own kernels and the extension run the same checks (``opinfo_checks``) in two processes side by side; all that
is seen of them must be equal, that some checks fail included. Building takes some minutes: this runs with ``-m full``.
A report is written beside the extension.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer

import pytest

import derivlint
from derivlint.emit.emission import emission
from derivlint.emit.files import write_files
from derivlint.model import build_model
from derivlint.runtime import Manifest, build, read_manifest
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.emit import opinfo_checks
from tests.emit.opinfo_checks import NO_AUTOGRAD, NO_SAMPLE, RIGHT, Outcome

pytestmark = pytest.mark.full

#: Seconds for one check; loading the library is part of the first.
LIMIT = 120.0
#: What must be found right through nodes of ours at least; PyTorch's list counts an operator with variants once here.
AT_LEAST = {"operators": 570, "": 640, "complex": 340, "in-place": 165, "out": 270}
#: How many of the overridden operators are called by the samples, and how many classes of nodes show.
CALLED, SHOWN = 970, 565
#: Operators whose other kernels, for the CPU, come before those for ``Autograd``, in PyTorch, too.
WITHOUT_EFFECT = frozenset({"_fused_rms_norm", "max_pool2d"})

#: The checks that fail, with PyTorch's own kernels alike, by reason.
FAILING = {
    "another precision than that of the inputs": """
        bfloat16|bfloat16 complex|cfloat|cfloat complex|chalf|chalf complex|cov|cov complex|float|float complex|
        half|half complex
    """,
    "sparse outputs, which gradcheck does not take": """
        sparse.mm reduce|sparse.sampled_addmm|sparse.sampled_addmm complex
    """,
    "PyTorch has no derivative, or none of that kind": """
        _conj_copy call|_foreach_sub|_foreach_sub complex|acosh_ call|asinh_ call|atanh_ call|cdist backward call|
        embedding_renorm_ call|foreach_pow.ScalarAndTensor call|geqrf call|nn.functional.ctc_loss|
        nn.functional.linear_cross_entropy chunked_none|nn.functional.rrelu in-place|
        nn.functional.scaled_dot_product_attention|pdist backward call|view_as_complex_copy call
    """,
    "PyTorch has no kernel for complex numbers": """
        _foreach_ceil complex|_foreach_clamp_max complex|_foreach_clamp_min complex|_foreach_erf complex|
        _foreach_erfc complex|_foreach_floor complex|_foreach_frac complex|_foreach_lgamma complex|
        _foreach_max complex|_foreach_maximum complex|_foreach_minimum complex|_foreach_round complex|
        _foreach_sign complex|_foreach_trunc complex
    """,
    "errors of PyTorch's own": """
        _batch_norm_with_update|_batch_norm_with_update out|_foreach_add|_foreach_add complex|_foreach_addcdiv|
        _foreach_addcdiv complex|_foreach_div|_foreach_div complex|_foreach_mul|_foreach_mul complex|_foreach_norm|
        _foreach_norm complex|_native_batch_norm_legit|as_strided partial_views complex|
        as_strided partial_views in-place|fft.ihfft2 out|fft.ihfftn out|foreach_add.Tensor call|
        foreach_div.Tensor call|foreach_mul.Tensor call|native_batch_norm|norm.Scalar call|
        norm.ScalarOpt_dtype call
    """,
    "not the derivative: random outputs, places without one, overlapping or broadcast samples": """
        __rpow__|_batch_norm_no_update call|_foreach_add in-place|_masked_softmax call|_standard_gamma call|
        _test_autograd_multiple_dispatch call|_weight_norm_interface call|as_strided_scatter|
        as_strided_scatter complex|fill.Tensor call|fill_.Tensor call|istft complex|
        linalg.norm subgradients_at_zero|linalg.norm subgradients_at_zero complex|logcumsumexp complex|
        masked.logaddexp|native_group_norm|nn.functional.linear_cross_entropy chunked|nn.functional.max_unpool1d|
        nn.functional.max_unpool2d|nn.functional.max_unpool3d|normal|normal number_mean|normal.float_Tensor call|
        rrelu_with_noise_functional call
    """,
}


@dataclass(slots=True)
class Results:
    """What one process after the other said, until all checks were done."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    without_effect: list[str] = field(default_factory=list)


def results(folder: str, build_folder: Path) -> Results:
    """What the checks say; a crash or a hang is what becomes of one check."""
    found = Results()
    start: int | None = 0
    while start is not None:
        start = _run(folder, build_folder, start, found)
    return found


def _run(folder: str, build_folder: Path, start: int, found: Results) -> int | None:
    """Run checks from a position on; the position to go on with, None at the end."""
    roots = [str(Path(derivlint.__file__).parent.parent), str(Path(__file__).parents[2])]
    path = os.pathsep.join([*roots, *filter(None, [os.environ.get("PYTHONPATH")])])
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(
            [sys.executable, opinfo_checks.__file__, folder, str(build_folder), str(start)],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as child,
    ):
        assert child.stdout is not None
        position, name = None, ""
        for line in _in_time(child, child.stdout):
            if not line.startswith("["):
                continue
            where, what = json.loads(line)
            if where == "kernels":
                found.without_effect = what
            elif "result" in what:
                found.outcomes[what["name"]] = Outcome(**what)
                name = ""
            else:
                position, name = where, what["name"]
        status = child.wait()
        errors.seek(0)
        said = errors.read()[-4000:]
    if status == 0:
        return None
    assert position is not None, said
    if name:
        found.outcomes[name] = Outcome(name, f"crashed or took more than {LIMIT:.0f} s")
    return int(position) + 1


def _in_time(child: subprocess.Popen[str], lines: Iterable[str]) -> Iterator[str]:
    """The lines that a process prints; it is ended where one takes too long."""
    watch = Timer(LIMIT, child.kill)
    watch.start()
    for line in lines:
        watch.cancel()
        yield line
        watch = Timer(LIMIT, child.kill)
        watch.start()
    watch.cancel()


def kind(name: str) -> str:
    """What was checked of an operator."""
    last = name.rpartition(" ")[2]
    return last if last in ("complex", "in-place", "out") else ""


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, derivatives_path: Path, installed_natives: NativeFunctions) -> Path:
    """The extension with all operators, built; kept from run to run."""
    cache = request.config.cache
    assert cache is not None
    place = cache.mkdir("derivlint-extensions") / "all"
    # a path that is the same in every run keeps the build valid
    source = SourceFile.from_bytes("derivatives.yaml", derivatives_path.read_bytes())
    write_files(place, emission(build_model(source, installed_natives), None, "derivlint_tests").files)
    build(place)
    return place


@pytest.fixture(scope="module")
def both(folder: Path) -> tuple[Results, Results]:
    """What PyTorch's own kernels do, and what ours do."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        own = pool.submit(results, "-", folder / "build")
        ours = pool.submit(results, str(folder), folder / "build")
        found = own.result(), ours.result()
    (folder / "report.txt").write_text(report(found[1], read_manifest(folder)), encoding="utf-8")
    return found


def report(ours: Results, manifest: Manifest) -> str:
    """The numbers, and each operator that is left out or fails with the reason."""
    outcomes = ours.outcomes.values()
    called = {name for each in outcomes for name in each.operators}
    shown = {name for each in outcomes for name in each.ours}
    lines = [
        f"{len(manifest.operators)} operators overridden, {len(called & manifest.operators.keys())} called by samples",
        f"{len(shown)} classes of nodes shown",
        f"{len(right_operators(ours))} operators right through our nodes",
    ]
    lines += [f"{kind_ or 'real'}: {result}: {count}" for (kind_, result), count in sorted(_counts(outcomes).items())]
    lines += ["", "not right, with PyTorch's own kernels alike:"]
    lines += [f"  {each.name}: {each.result}" for each in outcomes if each.result not in (RIGHT, NO_AUTOGRAD)]
    lines += ["", "right without a node of ours:"]
    lines += [f"  {each.name}" for each in outcomes if is_right(each) and not each.ours and kind(each.name) != "out"]
    lines += ["", "not differentiable for PyTorch's list of operators:"]
    lines += [f"  {each.name}" for each in outcomes if each.result == NO_AUTOGRAD]
    lines += ["", "overridden and not called by a sample:"]
    lines += [f"  {name}: {left_out(name)}" for name in manifest.operators if name not in called]
    return "\n".join(lines) + "\n"


def _counts(outcomes: Iterable[Outcome]) -> Counter[tuple[str, str]]:
    known = (RIGHT, NO_AUTOGRAD, NO_SAMPLE)
    return Counter(
        (kind(each.name), each.result if each.result in known else "fails in PyTorch alike") for each in outcomes
    )


def left_out(operator: str) -> str:
    """Why no sample calls an operator."""
    reasons = {
        "for another device": "cuda cudnn miopen mps mkldnn nnpack cpu_fallback fused efficient flash overrideable",
        "nested tensors": "nested padded",
        "sparse tensors": "sparse _indices ccol crow col_indices row_indices values coalesce _to_sparse",
        "quantization": "quantize",
        "a test of PyTorch's own": "_test",
        "called with out by other operators only": ".out _out .grad_input .output",
    }
    for reason, words in reasons.items():
        if any(word in operator for word in words.split()):
            return reason
    return "no sample"


def is_right(outcome: Outcome) -> bool:
    return outcome.result == RIGHT


def right_operators(found: Results) -> set[str]:
    """The operators, whatever their variants, that are right through our nodes."""
    right = [each for each in found.outcomes.values() if is_right(each) and each.ours and not kind(each.name)]
    return {each.name.partition(" ")[0] for each in right}


def test_all_that_is_seen_is_what_pytorchs_own_kernels_show(both: tuple[Results, Results]) -> None:
    """Results of all checks, the names of all nodes, the operators called, the errors."""
    own, ours = both
    for attribute in ("result", "nodes", "operators", "said"):
        expected = {name: getattr(each, attribute) for name, each in own.outcomes.items()}
        assert {name: getattr(each, attribute) for name, each in ours.outcomes.items()} == expected


def test_values_are_those_of_pytorchs_own_kernels(both: tuple[Results, Results]) -> None:
    """All outputs and gradients, up to rounding."""
    own, ours = both
    different = [
        name
        for name, each in own.outcomes.items()
        if len(each.values) != len(ours.outcomes[name].values)
        or not all(
            math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
            for one, other in zip(each.values, ours.outcomes[name].values, strict=True)
        )
    ]
    assert different == []


def test_what_fails_is_known(both: tuple[Results, Results]) -> None:
    """The checks that fail are those that are known to, of PyTorch's own kernels; none crashes or hangs."""
    known = {name.strip() for names in FAILING.values() for name in names.split("|")}
    for each in both:
        failing = {name for name, found in each.outcomes.items() if found.result not in (RIGHT, NO_AUTOGRAD)}
        assert failing == known


def test_derivatives_are_right(both: tuple[Results, Results]) -> None:
    """As many as there are at least."""
    _, ours = both
    counts = Counter(kind(each.name) for each in ours.outcomes.values() if is_right(each))
    assert {name: count for name, count in counts.items() if count < AT_LEAST[name]} == {}
    assert len(right_operators(ours)) >= AT_LEAST["operators"]


def test_all_nodes_and_kernels_are_ours(both: tuple[Results, Results]) -> None:
    """No generated node of PyTorch is left, and the dispatcher calls our kernels."""
    own, ours = both
    assert {name: each.ours for name, each in own.outcomes.items() if each.ours} == {}
    foreign = {name for each in ours.outcomes.values() for name in set(each.nodes) - set(each.ours)}
    # functions written in Python
    assert {name for name in foreign if not name.startswith("GeneratedBackwardFor_")} == set()
    assert set(ours.without_effect) == WITHOUT_EFFECT


def test_samples_reach_most_operators(both: tuple[Results, Results], folder: Path) -> None:
    _, ours = both
    operators = read_manifest(folder).operators
    called = {name for each in ours.outcomes.values() for name in each.operators}
    assert len(called & operators.keys()) >= CALLED
    assert len({name for each in ours.outcomes.values() for name in each.ours}) >= SHOWN
