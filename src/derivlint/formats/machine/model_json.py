"""The model as JSON, in a stable form: ``derivlint model --output-format json``."""

from __future__ import annotations

from typing import Any

from derivlint.model import DifferentiabilityInfo, ForwardDerivative, FunctionMatch, How, Model, SavedAttribute
from derivlint.schema import SchemaKind

VERSION = 1
Json = dict[str, Any]


def model_document(model: Model, matched: bool = False) -> Json:
    """Return the JSON document of a model.

    Args:
        model: the model.
        matched: whether to add every native function with the info that applies to it.
    """
    document: Json = {
        "version": VERSION,
        "used_dispatch_keys": model.used_dispatch_keys,
        "infos": [_info(model, info) for info in model.infos],
    }
    if matched:
        # torchgen sorts the functions by C++ name, equal names in the order of native_functions.yaml
        functions = sorted(model.natives.functions, key=lambda function: function.cpp_name)
        matches = [model.match(function) for function in functions]
        document["functions"] = [_function(model, match) for match in matches]
        document["foreach_infos"] = [
            _info(model, info)
            for match in matches
            if match.how is How.FOREACH_GENERATED
            for info in match.infos.values()
        ]
    return document


def _saved(attributes: tuple[SavedAttribute, ...]) -> list[Json]:
    return [
        {"name": item.name, "type": str(item.type), "expr": item.expr}
        | ({"accidental": True} if item.accidental else {})
        for item in attributes
    ]


def _source(info: DifferentiabilityInfo) -> Json:
    source = info.source
    return {"kind": source.kind, "index": source.index} if source.kind == "entry" else {"kind": source.kind}


def _names(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else sorted(set(names))


def _forward(derivative: ForwardDerivative) -> Json:
    return {
        "formula": derivative.formula,
        "var_names": list(derivative.var_names),
        "var_types": [str(kind) for kind in derivative.var_types],
        "required_inputs_fw_grad": _names(derivative.required_inputs_fw_grad),
        "required_inputs_primal": _names(derivative.required_inputs_primal),
        "required_original_self_value": derivative.required_original_self_value,
        "is_reusing_outplace_formula": derivative.is_reusing_outplace_formula,
    }


def _info(model: Model, info: DifferentiabilityInfo) -> Json:
    values = info.output_differentiability
    conditions = info.output_differentiability_conditions
    return {
        "name": info.name,
        "key": info.key,
        "schema": str(info.func.schema),
        "op": model.node_name(info),
        "source": _source(info),
        "derivatives": [
            {
                "formula": derivative.formula,
                "original_formula": derivative.original_formula,
                "var_names": list(derivative.var_names),
                "saved_inputs": _saved(derivative.saved_inputs),
                "saved_outputs": _saved(derivative.saved_outputs),
                "named_gradients": sorted(derivative.named_gradients),
            }
            for derivative in info.derivatives
        ],
        "forward_derivatives": [_forward(derivative) for derivative in info.forward_derivatives],
        "all_saved_inputs": _saved(info.all_saved_inputs),
        "all_saved_outputs": _saved(info.all_saved_outputs),
        "available_named_gradients": list(info.available_named_gradients),
        "used_named_gradients": sorted(info.used_named_gradients),
        "args_with_derivatives": [binding.name for binding in info.args_with_derivatives],
        "non_differentiable_arg_names": list(info.non_differentiable_arg_names),
        "output_differentiability": None if values is None else list(values),
        "output_differentiability_conditions": None if conditions is None else list(conditions),
    }


def _function(model: Model, match: FunctionMatch) -> Json:
    function = match.function
    kind: SchemaKind = function.schema.kind
    row: Json = {
        "schema": str(function.schema),
        "kind": kind.name,
        "generated": function.generated,
        "info": None,
        "keys": [],
        "how": None,
        "fw_derivatives": None,
    }
    if match.infos and match.how is not None:
        first = next(iter(match.infos.values()))
        row["info"] = first.name
        row["info_schema"] = str(first.func.schema)
        row["keys"] = list(match.infos)
        row["ops"] = {key: model.node_name(info) for key, info in match.infos.items()}
        row["how"] = match.how.value
        row["fw_derivatives"] = {
            key: [_forward(derivative) for derivative in forwards] for key, forwards in (match.forwards or {}).items()
        }
    return row
