"""Every autograd kernel is torchgen's, statement by statement, but for differences that are named here.

Kernels are compared by operator and dispatch key, after torchgen's text is rewritten by :data:`DIFFERENCES`, each with
its reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from torchgen.packaged.autograd import gen_variable_type
from torchgen.packaged.autograd.gen_inplace_or_view_type import use_derived

from derivlint.emit.kernels import Kernel, kernels
from derivlint.emit.places import without_marks
from derivlint.model import Model

Key = tuple[str, str]


class Difference(NamedTuple):
    """A difference that is meant.

    Attributes:
        reason: why the kernels differ there.
        theirs: a pattern of torchgen's text.
        ours: what stands for it in ours.
    """

    reason: str
    theirs: str
    ours: str | Callable[[re.Match[str]], str]


def _call(match: re.Match[str]) -> str:
    return f"REDISPATCH({re.sub(r'_(?=[,)]|$)', '', match[1])});"


def _list_of_nodes(match: re.Match[str]) -> str:
    return (
        f"c10::intrusive_ptr<{match[1]}>grad_fn;if(_requires_grad){{"
        f"grad_fn=c10::make_intrusive<{match[1]}>({match[2]});{match[3]}}}grad_fns.push_back(std::move(grad_fn));"
    )


def _tangents_of_tuple(match: re.Match[str]) -> str:
    name, sets = match[1], re.findall(r"(\w+)\._set_fw_grad\((std::get<\d>)\(\w+\.value\(\)\),0,(\w+)\);", match[0])
    calls = "".join(f"set_tangent({output},{get}(*{name}),{flag});" for output, get, flag in sets)
    return f"if({name}.has_value()){{{calls}}}"


TUPLE = (
    r"(?:if\((\w+_new_fw_grad_opt)\.has_value\(\)&&std::get<\d>\(\1\.value\(\)\)\.defined\(\)&&\w+\.defined\(\)\)"
    r"\{\w+\._set_fw_grad\(std::get<\d>\(\1\.value\(\)\),0,\w+\);\})+"
)
_ZERO = (
    r"auto (\w+)_t=\(\1_t_raw\.defined\(\)\|\|!\1_tensor\.defined\(\)\)\?\1_t_raw:"
    r"at::{}_symint\(\1_tensor\.sym_sizes\(\),\1_tensor\.options\(\)\);"
)
_SET = (
    r"if\((\w+)_new_fw_grad_opt\.has_value\(\)&&{0}_new_fw_grad_opt\.value\(\)\.defined\(\)&&{1}\.defined\(\)\)"
    r"\{{{1}\._set_fw_grad\({0}_new_fw_grad_opt\.value\(\),0,(\w+)\);\}}"
)
_BLOCK = r"(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*"
#: In the order in which torchgen's text is rewritten.
DIFFERENCES = (
    Difference("arguments are checked, not renamed", r"auto&(\w+)_=unpack\((.*?)\);", r"expect_defined(\2);"),
    Difference("lists and optional tensors are not checked", r"auto \w+_=unpack(?:_opt)?\(.*?\);", ""),
    Difference(
        "the result of the call has no temporary name",
        r"auto _tmp=\(\[&\]\(\)\{(.*?)\}\)\(\);auto ?(\S+?)=(?:std::move\(_tmp\)|_tmp);",
        r"auto \2=[&](){\1}();",
    ),
    Difference("an overload is named, not found by its arguments", r"at::redispatch::\w+\((.*?)\);", _call),
    Difference(
        "a function makes the zero that stands for no tangent",
        _ZERO.format("_efficientzerotensor") + r"(?:update_wrapped_number\(\1_tensor,\1_t\);)?",
        r"auto \1_t=tangent_or_zero(\1_t_raw,\1_tensor);",
    ),
    Difference(
        "a function makes the tangent that is written to",
        _ZERO.format("zeros"),
        r"auto \1_t=tangent_to_write(\1_t_raw,\1_tensor);",
    ),
    Difference("a function sets a tangent", _SET.format(r"\1", r"\1"), r"set_tangent(\1,\1_new_fw_grad_opt,\2);"),
    Difference(
        "a function sets the tangents of a list",
        r"for\(const auto&i:c10::irange\((\w+)_new_fw_grad_opts\.size\(\)\)\)\{"
        r"auto&\1_new_fw_grad_opt=\1_new_fw_grad_opts\[i\];"
        + _SET.format(r"\1", r"\1\[i\]").replace(r"(\w+)_new", r"\1_new", 1)
        + r"\}",
        r"set_tangents_of_elements(\1,\1_new_fw_grad_opts,\2);",
    ),
    Difference(
        "a function sets the tangents of views",
        r"if\((\w+)_new_fw_grad_opt\.has_value\(\)\)\{auto \1_new_fw_grad=\1_new_fw_grad_opt\.value\(\);"
        r"TORCH_INTERNAL_ASSERT\(\1\.size\(\)==\1_new_fw_grad\.size\(\)\);"
        r"for\(const auto i:c10::irange\(\1\.size\(\)\)\)\{if\(\1_new_fw_grad\[i\]\.defined\(\)&&\1\[i\]\.defined\(\)\)"
        r"\{\1\[i\]\._set_fw_grad\(\1_new_fw_grad\[i\],0,(\w+)\);\}\}\}",
        r"set_tangents(\1,\1_new_fw_grad_opt,\2);",
    ),
    Difference("a function sets each tangent of a tuple", TUPLE, _tangents_of_tuple),
    Difference("loops copy their index", r"const auto&i:", "const auto i:"),
    Difference("functions tell whether there are tangents", r"isFwGradDefinedTensorList\(", "any_tangent("),
    Difference("functions tell whether there are tangents", r"isFwGradDefined\(", "has_tangent("),
    Difference("a condition is constant", r"\]\]auto _any_has_forward", "]]const bool _any_has_forward"),
    Difference(
        "a short statement has no braces",
        r"if\((_any_has_forward_grad_\w+(?:\[i\])?)\)\{(original_selfs?(?:\[i\])?=self(?:\[i\])?\.clone\(\);)\}",
        r"if(\1)\2",
    ),
    Difference("a variable has a shorter name", r"\bith_requires_grad\b", "_requires_grad"),
    Difference(
        "nodes of a list are made without a lambda expression",
        r"grad_fns\.push_back\(\[&\]\(\)->c10::intrusive_ptr<(\w+)>\{if\(!_requires_grad\)\{return nullptr;\}"
        r"else\{auto grad_fn=c10::make_intrusive<\1>\(([^()]*)\);(.*?)return grad_fn;\}\}\(\)\);",
        _list_of_nodes,
    ),
    Difference(
        "nothing is declared that is not used", r"::std::optional<at::Tensor>original_self;(?!.*original_self\b)", ""
    ),
    Difference(
        "nothing is declared that is not used",
        r"std::vector<::std::optional<at::Tensor>>original_selfs\(self\.size\(\)\);(?!.*original_selfs\b)",
        "",
    ),
    Difference(
        "the list of outputs is the list that is written to, with as many nodes",
        r"if\(!grad_fns\.empty\(\)\)\{auto differentiable_outputs=flatten_tensor_args\((\w+)\);"
        r"TORCH_INTERNAL_ASSERT\(differentiable_outputs\.size\(\)==grad_fns\.size\(\)\);"
        r"for\(const auto i:c10::irange\(grad_fns\.size\(\)\)\)\{auto grad_fn=grad_fns\[i\];if\(grad_fn!=nullptr\)"
        r"\{(\w+)\(differentiable_outputs\[i\],grad_fns\[i\]\);\}\}\}",
        r"for(const auto i:c10::irange(grad_fns.size())){if(grad_fns[i]){\2(\1[i],grad_fns[i]);}}",
    ),
    Difference(
        "an empty list is not a case of its own",
        r"if\(!grad_fns\.empty\(\)\)\{for\(const auto i:c10::irange\(grad_fns\.size\(\)\)\)\{"
        r"auto grad_fn=grad_fns\[i\];if\(grad_fn!=nullptr\)\{(.*?)\}\}\}",
        r"for(const auto i:c10::irange(grad_fns.size())){if(const auto&grad_fn=grad_fns[i]){\1}}",
    ),
    Difference(
        "values are saved where the node is made",
        r"\}grad_fns\.push_back\(std::move\(grad_fn\)\);\}for\(const auto i:c10::irange\(grad_fns\.size\(\)\)\)\{"
        rf"if\(const auto&grad_fn=grad_fns\[i\]\)\{{({_BLOCK})\}}\}}",
        r"\1}grad_fns.push_back(std::move(grad_fn));}",
    ),
    Difference(
        "a function compares the lengths of lists",
        r"TORCH_CHECK\((\w+)\.size\(\)==(\w+)\.size\(\),\"Tensor lists must have the same number of tensors, got \","
        r"\1\.size\(\),\" and \",\2\.size\(\)\);",
        r"expect_as_many(\1,\2);",
    ),
    Difference(
        "an operator that is missing raises where it is looked up",
        r"static c10::OperatorName full_name\((.*?)\);static::std::optional<c10::OperatorHandle>opt_op="
        r"c10::Dispatcher::singleton\(\)\.findSchema\(full_name\);(.*?)\*opt_op",
        r"static const auto _operator=c10::Dispatcher::singleton().findSchemaOrThrow(\1);\2_operator",
    ),
    Difference("what follows a return needs no else", rf"(_jvp<[^;]*;\}})else\{{({_BLOCK})\}}", r"\1\2"),
)
#: torchgen's statements in kernels of out functions, before which both throw where anything requires a gradient.
UNDIFFERENTIATED = re.compile(
    r"\[\[maybe_unused\]\](?:auto _any_requires_grad|const bool _any_has_forward_grad_\w+)=[^;]*;"
    r"|c10::intrusive_ptr<Node>grad_fn;|if\(grad_fn\)\{rebase_history\([^;]*;\}"
)
_LAYOUT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|#ifndef NDEBUG.*?#endif|\s+", re.DOTALL)
_BLANK = re.compile(r"\"(?:\\.|[^\"\\])*\"|(?<!\w) +| +(?!\w)| +(?= )")
_CONDITION = re.compile(
    r"(?:_any_has_forward_grad_\w+(?:\[i\])?=|if\((?:_any_has|\(*(?:has|any)_tangent\()|TORCH_CHECK_NOT_IMPLEMENTED\()[^;{]*(?=[;{])"
)


@pytest.fixture(scope="module")
def torchgen_kernels(torchgen_infos: tuple[Any, list[Any]]) -> dict[Key, tuple[str, str]]:
    """Registration and definition of every kernel that torchgen generates."""
    made: dict[Key, tuple[str, str]] = {}
    for match in torchgen_infos[1]:
        if not use_derived(match):
            continue
        parts = gen_variable_type.gen_variable_type_func(match)
        for part, (registration,) in parts.items():
            if part.startswith("wrapper_registrations_"):
                key = part.removeprefix("wrapper_registrations_")
                (definition,) = parts[f"type_derived_method_definitions_{key}"]
                made[str(match.func.func.name), "Autograd" if key == "Default" else key] = registration, definition
    return made


@pytest.fixture(scope="module")
def own_kernels(model: Model) -> dict[Key, Kernel]:
    return {(str(kernel.function.name), kernel.dispatch_key): kernel for kernel in kernels(model)}


def test_kernels_are_those_of_torchgen(
    own_kernels: dict[Key, Kernel], torchgen_kernels: dict[Key, tuple[str, str]]
) -> None:
    assert own_kernels.keys() == torchgen_kernels.keys()
    generic = {key for key, (registration, _) in torchgen_kernels.items() if "NotImplementedFallback" in registration}
    assert {key for key, kernel in own_kernels.items() if kernel.is_generic} == generic


def test_every_kernel_is_torchgens(
    own_kernels: dict[Key, Kernel], torchgen_kernels: dict[Key, tuple[str, str]]
) -> None:
    """All of them: 2,385 with PyTorch 2.13."""
    uses: Counter[str] = Counter()
    different = {
        key: (theirs, own)
        for key, kernel in own_kernels.items()
        if (theirs := _theirs(torchgen_kernels[key][1], uses)) != (own := _own(kernel))
    }
    assert different == {}
    assert uses.keys() == {difference.reason for difference in DIFFERENCES}


def _theirs(definition: str, uses: Counter[str]) -> str:
    """torchgen's kernel in the words of ours."""
    text = _without_layout(definition)
    for difference in DIFFERENCES:
        text, count = re.subn(difference.theirs, difference.ours, text)
        if count:
            uses[difference.reason] += 1
    if "throw_error_out_requires_grad" in text:
        text = UNDIFFERENTIATED.sub("", text)
    return _plain(text)


def _own(kernel: Kernel) -> str:
    """Our kernel without namespaces, and with torchgen's name."""
    text = _without_layout(without_marks(kernel.text)).replace("nodes::", "").replace("_kernel(c10::D", "(c10::D", 1)
    text = text.replace(f"at::_ops::{kernel.function.name.unambiguous_name}::redispatch(", "REDISPATCH(")
    # not statements: the return type of a lambda, reserved room for nodes
    text = re.sub(r"\[&\]\(\)->[\w:<>,]+\{", "[&](){", text).replace("grad_fns.reserve(self.size());", "")
    return _plain(text)


def _without_layout(text: str) -> str:
    """The text without comments, debug assertions and blanks; strings stay as they are."""
    text = _LAYOUT.sub(lambda match: match[0] if match[0].startswith('"') else " ", text)
    return _BLANK.sub(lambda match: match[0] if match[0].startswith('"') else "", text)


def _plain(text: str) -> str:
    """The text without what only groups conditions, and without a leading ``::``."""
    text = _CONDITION.sub(lambda match: re.sub(r"[()]", "", match[0]), text)
    return text.replace("::std::", "std::").replace("auto [", "auto[")
