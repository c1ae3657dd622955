"""The model against torchgen's own: every field of every info, and what applies to every native function.

torchgen reads the installed files in this process; nothing is compared but plain values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from torchgen.api import cpp
from torchgen.api.autograd import DifferentiabilityInfo as TorchgenInfo
from torchgen.api.autograd import ForwardDerivative as TorchgenForward
from torchgen.api.autograd import NativeFunctionWithDifferentiabilityInfo, match_differentiability_info
from torchgen.api.autograd import SavedAttribute as TorchgenSaved
from torchgen.api.types import SpecialArgName
from torchgen.gen import parse_native_yaml
from torchgen.packaged.autograd.load_derivatives import load_derivatives

from derivlint.formats.machine.model_json import model_document
from derivlint.model import build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

Json = dict[str, Any]
#: Enough differences to see what they have in common.
SHOWN = 5


def saved(attributes: Iterable[TorchgenSaved]) -> list[Json]:
    rows = []
    for attribute in attributes:
        name = attribute.nctype.name
        text = name.name if isinstance(name, SpecialArgName) else name
        rows.append({"name": text, "type": attribute.nctype.type.cpp_type(), "expr": attribute.expr})
    return rows


def by_name(rows: list[Json]) -> list[Json]:
    return sorted(rows, key=lambda row: (row["name"], row["type"], row["expr"]))


def names(found: Iterable[str] | None) -> list[str] | None:
    return None if found is None else sorted(set(found))


def forward(derivative: TorchgenForward) -> Json:
    return {
        "formula": derivative.formula,
        "var_names": list(derivative.var_names),
        "var_types": [str(kind) for kind in derivative.var_types],
        "required_inputs_fw_grad": names(derivative.required_inputs_fw_grad),
        "required_inputs_primal": names(derivative.required_inputs_primal),
        "required_original_self_value": derivative.required_original_self_value,
        "is_reusing_outplace_formula": derivative.is_reusing_outplace_formula,
    }


def info_row(info: TorchgenInfo, key: str) -> Json:
    """One info of torchgen; what it saves in all is a set for foreach functions, so that is sorted here."""
    return {
        "name": info.name,
        "key": key,
        "schema": str(info.func.func),
        "op": info.op,
        "derivatives": [
            {
                "formula": derivative.formula,
                "original_formula": derivative.original_formula,
                "var_names": list(derivative.var_names),
                "saved_inputs": saved(derivative.saved_inputs),
                "saved_outputs": saved(derivative.saved_outputs),
                "named_gradients": sorted(derivative.named_gradients),
            }
            for derivative in info.derivatives
        ],
        "forward_derivatives": [forward(derivative) for derivative in info.forward_derivatives],
        "all_saved_inputs": saved(info.all_saved_inputs),
        "all_saved_outputs": saved(info.all_saved_outputs),
        "available_named_gradients": list(info.available_named_gradients),
        "used_named_gradients": sorted(info.used_named_gradients),
        "args_with_derivatives": [binding.name for binding in info.args_with_derivatives],
        "non_differentiable_arg_names": list(info.non_differentiable_arg_names),
        "output_differentiability": info.output_differentiability,
        "output_differentiability_conditions": info.output_differentiability_conditions,
    }


class Torchgen:
    """torchgen's model of the installed files.

    Attributes:
        used_dispatch_keys: the dispatch keys of the file.
        infos: the rows of all infos, in torchgen's order.
        functions: the rows of all native functions, in torchgen's order.
        foreach: the rows of the infos that it makes for out-of-place foreach functions.
    """

    def __init__(self, derivatives: Path, natives: Path, tags: Path) -> None:
        cached, keys = load_derivatives(str(derivatives), str(natives), str(tags))
        # torchgen adds the infos of foreach functions to what it keeps
        infos = dict(cached)
        self.used_dispatch_keys = sorted(keys)
        self.infos = [info_row(info, key) for by_key in infos.values() for key, info in by_key.items()]
        written = {id(by_key) for by_key in infos.values()}
        functions = sorted(
            parse_native_yaml(str(natives), str(tags)).native_functions, key=lambda function: cpp.name(function.func)
        )
        self.functions: list[Json] = []
        self.foreach: list[Json] = []
        for match in match_differentiability_info(functions, infos):
            self.functions.append(self._function(match, written))

    def _function(self, match: NativeFunctionWithDifferentiabilityInfo, written: set[int]) -> Json:
        function = match.func
        row: Json = {
            "schema": str(function.func),
            "kind": function.func.kind().name,
            "generated": "generated" in function.tags,
            "info": None,
            "keys": [],
            "how": None,
            "fw_derivatives": None,
        }
        if match.info is None:
            return row
        first = next(iter(match.info.values()))
        own = first.func.func == function.func
        if id(match.info) in written:
            functional = first.func.func.kind().name == "functional"
            how = "exact" if own else "signature" if functional else "generated_functional"
        else:
            how = "foreach_generated" if own else "foreach_inplace"
        if how == "foreach_generated":
            for key, info in match.info.items():
                made = info_row(info, key)
                made["all_saved_inputs"] = by_name(made["all_saved_inputs"])
                made["all_saved_outputs"] = by_name(made["all_saved_outputs"])
                self.foreach.append(made)
        row["info"] = first.name
        row["info_schema"] = str(first.func.func)
        row["keys"] = list(match.info)
        row["ops"] = {key: info.op for key, info in match.info.items()}
        row["how"] = how
        row["fw_derivatives"] = {
            key: [forward(derivative) for derivative in found] for key, found in (match.fw_derivatives or {}).items()
        }
        return row


@pytest.fixture(scope="module")
def torchgen_model(derivatives_path: Path, native_functions_path: Path, tags_path: Path) -> Torchgen:
    return Torchgen(derivatives_path, native_functions_path, tags_path)


@pytest.fixture(scope="module")
def document(derivatives_path: Path, installed_natives: NativeFunctions) -> Json:
    return model_document(build_model(SourceFile.read(derivatives_path), installed_natives), matched=True)


def without_own_fields(row: Json) -> Json:
    """An info as torchgen knows it: neither where it comes from nor which values are saved by accident."""
    plain = {key: value for key, value in row.items() if key != "source"}
    saving = [plain, *plain["derivatives"]]
    for holder in saving:
        for field in ("saved_inputs", "saved_outputs", "all_saved_inputs", "all_saved_outputs"):
            for attribute in holder.get(field, ()):
                attribute.pop("accidental", None)
    return plain


def differences(ours: Sequence[Json], theirs: Sequence[Json]) -> list[str]:
    """Every field in which two rows of the same place differ, one line each."""
    found = []
    for mine, other in zip(ours, theirs, strict=True):
        for field in sorted(mine.keys() | other.keys()):
            missing = "(no such field)"
            if mine.get(field, missing) != other.get(field, missing):
                found.append(f"{other['schema']}: {field}: {mine.get(field, missing)} != {other.get(field, missing)}")
    return found


def test_every_info_has_torchgens_fields_and_order(document: Json, torchgen_model: Torchgen) -> None:
    ours = [without_own_fields(row) for row in document["infos"]]
    assert [(row["schema"], row["key"]) for row in ours] == [
        (row["schema"], row["key"]) for row in torchgen_model.infos
    ]
    assert differences(ours, torchgen_model.infos)[:SHOWN] == []


def test_dispatch_keys_are_torchgens(document: Json, torchgen_model: Torchgen) -> None:
    assert document["used_dispatch_keys"] == torchgen_model.used_dispatch_keys


def test_every_function_is_matched_as_torchgen_matches_it(document: Json, torchgen_model: Torchgen) -> None:
    """Also the forward formulas, which differ from the info's for in-place functions."""
    ours = document["functions"]
    assert [row["schema"] for row in ours] == [row["schema"] for row in torchgen_model.functions]
    assert differences(ours, torchgen_model.functions)[:SHOWN] == []


def test_every_info_of_a_foreach_function_is_torchgens(document: Json, torchgen_model: Torchgen) -> None:
    ours = {row["schema"]: without_own_fields(row) for row in document["foreach_infos"]}
    assert sorted(ours) == sorted(row["schema"] for row in torchgen_model.foreach)
    in_order = [ours[row["schema"]] for row in torchgen_model.foreach]
    assert differences(in_order, torchgen_model.foreach)[:SHOWN] == []


def test_the_comparison_covers_the_whole_release(torchgen_model: Torchgen) -> None:
    """A comparison of empty lists would always agree."""
    assert len(torchgen_model.infos) > 700
    assert len(torchgen_model.functions) > 3000
    assert len(torchgen_model.foreach) > 50


def test_infos_say_which_entry_they_come_from(document: Json) -> None:
    """Every info is of an entry, by its position in the file, or of the copy of a view."""
    sources = [row["source"] for row in document["infos"]]
    written = [source["index"] for source in sources if source["kind"] == "entry"]
    assert sorted(set(written)) == list(range(len(set(written))))
    assert {source["kind"] for source in sources} == {"entry", "view_copy"}
    assert {row["source"]["kind"] for row in document["foreach_infos"]} == {"foreach"}
