"""torchgen's verdict on one entry of the installed derivatives.yaml, by running torchgen itself.

An entry is run through the whole generator (load, match, autograd kernels, in-place and view kernels, nodes), but only
for the functions it can influence: those of its base name, their ``_copy`` twins and foreach functions.
"""

from __future__ import annotations

import copy
import io
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torchgen
import yaml
from torchgen.api import cpp
from torchgen.api.autograd import match_differentiability_info
from torchgen.gen import get_grouped_by_view_native_functions, parse_native_yaml
from torchgen.model import NativeFunction, NativeFunctionsViewGroup
from torchgen.packaged.autograd import gen_autograd_functions as functions_generator
from torchgen.packaged.autograd import gen_inplace_or_view_type as view_generator
from torchgen.packaged.autograd import gen_variable_type as kernel_generator
from torchgen.packaged.autograd import load_derivatives as loader
from torchgen.yaml_utils import YamlLoader

PACKAGED = Path(torchgen.__file__).parent / "packaged"
DERIVATIVES = PACKAGED / "autograd" / "derivatives.yaml"
NATIVE_FUNCTIONS = PACKAGED / "ATen" / "native" / "native_functions.yaml"
TAGS = PACKAGED / "ATen" / "native" / "tags.yaml"

Infos = dict[Any, dict[str, Any]]


@dataclass(frozen=True)
class Refusal:
    """Where torchgen gave up, and what it said."""

    where: str
    message: str


def definitions() -> list[dict[str, Any]]:
    """The entries of the installed file as Python objects."""
    with open(DERIVATIVES, encoding="utf-8") as stream:
        return list(yaml.load(stream, Loader=YamlLoader))


def with_dispatch(definition: dict[str, Any]) -> dict[str, Any]:
    """An entry without ``dispatch`` in the form that torchgen gives it before it looks at it."""
    if "dispatch" in definition:
        return definition
    name = definition.pop("name")
    differentiability = definition.pop("output_differentiability", None)
    result: dict[str, Any] = {"name": name, "dispatch": {"Default": definition}}
    if differentiability:
        result["output_differentiability"] = differentiability
    return result


class Oracle:
    """Asks torchgen about single entries in the context of the installed file."""

    def __init__(self) -> None:
        functions = parse_native_yaml(str(NATIVE_FUNCTIONS), str(TAGS)).native_functions
        self._by_signature: dict[Any, list[NativeFunction]] = defaultdict(list)
        self._by_schema: dict[str, NativeFunction] = {}
        self._functions: dict[str, list[NativeFunction]] = defaultdict(list)
        self._views: dict[str, list[NativeFunctionsViewGroup]] = defaultdict(list)
        groups = get_grouped_by_view_native_functions(functions)
        self._view_of_copy = {
            group.view_copy.func.name.name.base: group.view.func.name.name.base
            for group in groups
            if isinstance(group, NativeFunctionsViewGroup) and group.view_copy is not None
        }
        for group in groups:
            members = [group] if isinstance(group, NativeFunction) else list(group.functions(include_copy=True))
            for function in members:
                self._by_signature[function.func.signature()].append(function)
                self._by_schema[str(function.func)] = function
            if isinstance(group, NativeFunctionsViewGroup):
                self._views[self.family(group.view.func.name.name.base)].append(group)
        for function in sorted(functions, key=lambda f: cpp.name(f.func)):
            self._functions[self.family(function.func.name.name.base)].append(function)
        self._entries: dict[str, list[tuple[int, Any, dict[str, Any]]]] = defaultdict(list)
        self.families: list[str] = []
        for index, definition in enumerate(definitions()):
            schema, infos = self._load(with_dispatch(definition))
            family = self.family(schema.name.name.base)
            self.families.append(family)
            self._entries[family].append((index, schema, infos))

    def family(self, base: str) -> str:
        """The name that stands for all functions that entries of a base name can influence."""
        base = base.removeprefix("_foreach_")
        return str(self._view_of_copy.get(base, base))

    def _load(self, definition: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        schema, infos = loader.create_differentiability_info(
            definition, self._by_signature, self._by_schema, Counter(), set()
        )
        return schema, infos

    def refusal(self, index: int, text: str) -> Refusal | None:
        """torchgen's verdict when the entry ``index`` is replaced by ``text``, a list of one item."""
        try:
            item = yaml.load(io.StringIO(text), Loader=YamlLoader)[0]
            schema, infos = self._load(with_dispatch(copy.deepcopy(item)))
            families = list(dict.fromkeys([self.families[index], self.family(schema.name.name.base)]))
            for family in families:
                self._generate(family, index, schema, infos)
        except Exception as error:
            return _refusal(error)
        return None

    def _generate(self, family: str, index: int, schema: Any, infos: dict[str, Any]) -> None:
        all_infos: Infos = {}
        own = self.family(schema.name.name.base) == family
        placed = False
        for position, other, other_infos in self._entries[family]:
            if own and not placed and position >= index:
                all_infos[schema] = infos
                placed = True
            if position != index:
                all_infos[other] = other_infos
        if own and not placed:
            all_infos[schema] = infos
        loader.add_view_copy_derivatives(all_infos, self._views[family])
        matched = match_differentiability_info(self._functions[family], all_infos)
        derived = [function for function in matched if view_generator.use_derived(function)]
        for function in derived:
            kernel_generator.gen_variable_type_func(function)
        for function in derived:
            view_generator.gen_inplace_or_view_type_env(function)
        for info in functions_generator.get_infos_with_derivatives_list(all_infos):
            functions_generator.process_function(info, functions_generator.FUNCTION_DEFINITION)


def _refusal(error: Exception) -> Refusal:
    root = str(Path(torchgen.__file__).parent)
    where = type(error).__name__
    traceback = error.__traceback__
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if filename.startswith(root):
            where = f"{filename[len(root) + 1 :]}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return Refusal(where, str(error).splitlines()[0] if str(error) else type(error).__name__)
