"""References of backward operators whose arguments are outputs of the operator that they belong to.

A saved mean varies with the input that it is computed from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from derivlint.analysis.scalar_evaluation.functions.table import Implementation
from derivlint.analysis.scalar_evaluation.reference import ReferenceOperator
from derivlint.analysis.scalar_evaluation.values import UnknownValueError
from derivlint.analysis.small_tensors.domain import FAILURES
from derivlint.analysis.small_tensors.inputs import Values
from derivlint.analysis.small_tensors.tensor import Value

#: The operators whose outputs are saved.
FORWARD = {
    "native_layer_norm_backward": "native_layer_norm",
    **dict.fromkeys(
        (
            "native_batch_norm_backward",
            "batch_norm_backward",
            "cudnn_batch_norm_backward",
            "miopen_batch_norm_backward",
        ),
        "native_batch_norm",
    ),
    "nll_loss_backward": "nll_loss_forward",
    "nll_loss2d_backward": "nll_loss2d_forward",
}
#: The positions of saved values among the outputs.
_OUTPUTS = {"mean": 1, "save_mean": 1, "total_weight": 1, "rstd": 2, "save_invstd": 2, "save_var": 2}
#: The names that arguments have in forward operators, and a value if there is no such argument.
_FORWARD_NAMES = {"train": "training", "update": "training", "epsilon": "eps"}
_DEFAULTS = {"training": True, "eps": 0.1}


class SavingReference(ReferenceOperator):
    """The reference of an operator with saved values."""

    def __init__(
        self, run: Callable[[Mapping[str, Value]], Value], parameters: Mapping[str, str], forward: Implementation
    ) -> None:
        super().__init__(run, parameters, FAILURES)
        self._forward = forward

    def completed(self, arguments: Values) -> Values:
        """The arguments with their saved values.

        Raises:
            UnknownValueError: the forward operator does not accept them.
        """
        values = {**_DEFAULTS, **{_FORWARD_NAMES.get(name, name): value for name, value in arguments.items()}}
        try:
            outputs = self._forward.run({name: values[name] for name in self._forward.parameters if name in values})
        except FAILURES as failure:
            raise UnknownValueError from failure
        return {**arguments, **{name: outputs[at] for name, at in _OUTPUTS.items() if name in arguments}}

    def outputs(self, arguments: Values) -> tuple[Value, ...]:
        """The outputs of the operator."""
        return super().outputs(self.completed(arguments))
