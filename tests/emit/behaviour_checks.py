"""What PyTorch's users see apart from derivatives, printed by snippets: a script, run with an extension and without.

Arguments: where extensions were emitted, each with the folder where it is built; none for PyTorch's own kernels. One
JSON object is printed: for each snippet what it returned or the error that it ended with, and the nodes of the
extensions that it met. Whoever runs the script twice compares the two.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

# importing them registers the snippets
from tests.emit.behaviour import composed, dtypes, engine, forward, gradients, in_place, modes  # noqa: F401  # each registers its snippets
from tests.emit.behaviour.telling import SHOWN, SNIPPETS, attempt
from tests.emit.loading import load_with_classes
from tests.sampling import sample

#: What every extension is tested with: errors, changes in place, hooks, modes, what is needed or saved.
ALWAYS = (
    *("backward_twice", "saved_and_changed", "in_place_on_leaf", "in_place_on_view", "out_with_gradients"),
    *("out_with_tangents", "grad_modes", "inference_tensors", "hooks_of_nodes", "hooks_of_tensors"),
    *("hooks_of_saved_tensors", "inputs_without_gradients", "some_outputs_used"),
)
TESTED = sample(SNIPPETS, 28, always=ALWAYS)

#: Operators beside those of ``extension_checks``: without a formula in one direction, or with kernels of their own.
MORE_OPERATORS = (
    *("igamma", "polygamma", "log_sigmoid_forward", "trace", "_cdist_forward", "_cdist_backward", "relu"),
    *("native_dropout", "resize_", "set_", "eq", "floor", "cummax", "index_put", "put", "linalg_eig", "isnan"),
    *("pixel_shuffle", "segment_reduce", "nonzero", "random"),
)


def results(classes: set[type[Any]]) -> Iterator[tuple[str, Any, list[str]]]:
    """What each snippet came to, and the nodes that it met of these classes."""
    import torch

    for name in TESTED:
        SHOWN.clear()
        torch.manual_seed(1)
        outcome = attempt(SNIPPETS[name], torch)
        yield name, outcome, sorted({node.name() for node in SHOWN if type(node) in classes})


def main(*places: str) -> None:
    """Load extensions and print what the snippets say."""
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    classes: set[type[Any]] = set()
    for folder, build_folder in zip(places[::2], places[1::2], strict=True):
        classes |= load_with_classes(folder, build_folder)[1]
    print(json.dumps({name: [outcome, ours] for name, outcome, ours in results(classes)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
