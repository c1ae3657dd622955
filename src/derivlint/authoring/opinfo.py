"""The template of the test for a new operator: an OpInfo, with gradcheck and gradgradcheck."""

from __future__ import annotations

import json
from string import Template

from derivlint.authoring.signature import OperatorSignature
from derivlint.schema import Argument

#: Values for arguments without default, by type.
_VALUES = {
    "bool": "False",
    "float": "0.5",
    "int": "0",
    "int[]": "[0]",
    "Scalar": "0.5",
    "str": '""',
    "SymInt": "1",
    "SymInt[]": "[2, 3]",
}

_TEST = Template('''\
"""Gradients, second derivatives and forward mode of $name, against finite differences.

Run it with the PyTorch that has the operator: python test_$function.py
"""

from functools import partial

import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.testing import make_tensor
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_utils import TestCase, run_tests
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._pytree import tree_flatten, tree_unflatten

SHAPES = ((3,), (2, 3))
OUTPUTS = $outputs  # those that have a gradient


def sample_inputs_$function(op_info, device, dtype, requires_grad, **kwargs):
    """Inputs of the operator; give it those that it is for."""
    make = partial(make_tensor, device=device, dtype=dtype, requires_grad=requires_grad, low=0.1, high=0.9)
$integral    for shape in SHAPES:
        yield SampleInput($inputs)


OP = OpInfo(
    $quoted,
    op=torch.ops.aten.$function_path,
    dtypes=(torch.float32, torch.float64),
    sample_inputs_func=sample_inputs_$function,
    supports_forward_ad=True,
    supports_fwgrad_bwgrad=True,
    supports_out=False,
)


def calls(device, dtype, op):
    """Each sample as a function of its differentiable tensors."""
    for sample in op.sample_inputs(device, dtype, requires_grad=True):
        leaves, form = tree_flatten([sample.input, *sample.args])
        places = [at for at, value in enumerate(leaves) if getattr(value, "requires_grad", False)]

        def function(*tensors, leaves=leaves, form=form, places=places, kwargs=sample.kwargs):
            given = list(leaves)
            for at, tensor in zip(places, tensors):
                given[at] = tensor
            result = op(*tree_unflatten(given, form), **kwargs)
            return tuple(result[at] for at in OUTPUTS) if isinstance(result, tuple) else result

        yield function, tuple(leaves[at] for at in places)


class Test$camel(TestCase):
    """The formulas of the entry, as autograd runs them."""

    @ops([OP], allowed_dtypes=(torch.float64,))
    def test_gradients(self, device, dtype, op):
        """The gradient and the tangent are those of the operator."""
        for function, inputs in calls(device, dtype, op):
            self.assertTrue(gradcheck(function, inputs, check_forward_ad=op.supports_forward_ad))

    @ops([OP], allowed_dtypes=(torch.float64,))
    def test_second_derivatives(self, device, dtype, op):
        """The gradient has the gradient that differences give."""
        for function, inputs in calls(device, dtype, op):
            self.assertTrue(gradgradcheck(function, inputs))


instantiate_device_type_tests(Test$camel, globals(), only_for="cpu")

if __name__ == "__main__":
    run_tests()
''')
_INTEGRAL = "    count = partial(torch.zeros, device=device, dtype=torch.long)\n"


def opinfo_test(signature: OperatorSignature) -> str:
    """Return the test of an operator."""
    name = signature.schema.name
    positional = signature.schema.arguments.flat_positional
    values = [_value(argument, signature) for argument in positional if argument.default is None]
    keywords = [
        f"{argument.name}={_value(argument, signature)}"
        for argument in signature.schema.arguments.flat_kwarg_only
        if argument.default is None
    ]
    inputs = values[0]
    if len(values) > 1:
        inputs += f", args=({', '.join(values[1:])}{',' if len(values) == 2 else ''})"
    if keywords:
        inputs += f", kwargs=dict({', '.join(keywords)})"
    return _TEST.substitute(
        name=name,
        quoted=json.dumps(str(name)),
        function=signature.name,
        function_path=str(name) if name.overload else f"{name}.default",
        camel="".join(part.capitalize() for part in signature.name.split("_")),
        integral=_INTEGRAL if any("count(" in value for value in (*values, *keywords)) else "",
        inputs=inputs,
        outputs=tuple(place for place, has_gradient in enumerate(signature.outputs) if has_gradient),
    )


def _value(argument: Argument, signature: OperatorSignature) -> str:
    text = str(argument.type)
    if argument in signature.integral:
        return "[count(shape)]" if argument.type.is_list_like is not None else "count(shape)"
    if argument.type.is_tensor_like:
        return "[make(shape), make(shape)]" if argument.type.is_list_like is not None else "make(shape)"
    if text.endswith("?"):
        return "None"
    base, bracket, size = text.partition("[")
    if bracket:
        count = size.removesuffix("]")
        item = _VALUES.get(base, "0")
        return f"[{', '.join([item] * int(count))}]" if count else _VALUES.get(f"{base}[]", f"[{item}]")
    return _VALUES.get(text, "None")
