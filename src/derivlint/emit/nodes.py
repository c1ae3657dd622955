"""The nodes of the autograd graph: one class for every info with derivatives, as PyTorch's ``Functions.h/.cpp``.

Follows torchgen/packaged/autograd/gen_autograd_functions.py in the behavior of a node (``process_function``), the
statements of its formulas (``emit_derivative``), and the members for saved variables (``save_var``): kernels set them,
Python reads them as ``grad_fn._saved_<name>``. The code is written for the API of torch/csrc/autograd/node.h and
torch/csrc/dynamo/compiled_autograd.h.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum

from msgspec import Struct

from derivlint.cpp.cpp_type import INT64, TENSOR, cpp_type
from derivlint.cpp.types import BOOL, DeclaredType, declared_type
from derivlint.emit.places import listing, marked
from derivlint.emit.release import DEFAULT, Release, release_of
from derivlint.emit.template import fill, load, yaml_name
from derivlint.formula import apply_edits
from derivlint.model import Derivative, DifferentiabilityInfo, Model, SavedAttribute
from derivlint.model.generated.evaluation import SIZE, is_guarded, list_size, retains_variables, unpacked_type
from derivlint.model.generated.gradients import GRAD_INPUT_MASK, incoming_gradients
from derivlint.model.scope import RETAIN_VARIABLES


class MemberKind(Enum):
    """The purpose of a member."""

    TENSOR = "tensor"
    TENSOR_LIST = "list of tensors"
    OPTIONAL_TENSOR_LIST = "list of optional tensors"
    SCALAR_LIST = "list of numbers"
    VALUE = "value"
    #: ``self_released_``: whether a list was released
    RELEASED = "released"
    #: ``self_size_``: the number of gradients for a list of tensors
    SIZE = "size"
    #: ``retain_variables``: whether backward can run again
    RETAIN = "retain"


#: Members that own tensors or arrays of numbers, and are released after backward.
OWNING = frozenset({MemberKind.TENSOR, MemberKind.TENSOR_LIST, MemberKind.OPTIONAL_TENSOR_LIST, MemberKind.SCALAR_LIST})
#: The unpacked types of lists of tensors, of optional tensors and of numbers.
_KINDS = {
    TENSOR: MemberKind.TENSOR,
    cpp_type("vector<Tensor>"): MemberKind.TENSOR_LIST,
    cpp_type("List<optional<Tensor>>"): MemberKind.OPTIONAL_TENSOR_LIST,
    cpp_type("vector<Scalar>"): MemberKind.SCALAR_LIST,
}
#: The wrapper types of saved tensors.
_WRAPPED = {
    MemberKind.TENSOR: declared_type("SavedVariable"),
    MemberKind.TENSOR_LIST: declared_type("std::vector<SavedVariable>"),
    MemberKind.OPTIONAL_TENSOR_LIST: declared_type("std::vector<SavedVariable>"),
}


class NodeMember(Struct, frozen=True):
    """One data member of a node class.

    Attributes:
        name: its name, with the underscore of wrapped tensors: ``self_``.
        type: its C++ type.
        kind: its purpose.
        initial: its initial value as C++, or empty.
        variable: its variable in formulas: ``self``.
        variable_type: the type of that variable, without a reference; None if it is not visible in formulas.
        is_output: whether it saves an output of the function.
        saved: the saved attribute of the model; None for auxiliary members.
    """

    name: str
    type: DeclaredType
    kind: MemberKind
    initial: str = ""
    variable: str = ""
    variable_type: DeclaredType | None = None
    is_output: bool = False
    saved: SavedAttribute | None = None

    @property
    def declaration(self) -> str:
        """The declaration in the class."""
        return f"{self.type} {self.name} = {self.initial};" if self.initial else f"{self.type} {self.name};"

    @property
    def released(self) -> str:
        """The flag that a list was released."""
        return f"{self.variable}_released_"


def members(info: DifferentiabilityInfo, release: Release = DEFAULT) -> tuple[NodeMember, ...]:
    """The members of an info's node, in order of declaration, with the types of a release."""
    return tuple(_members(info, release))


def _members(info: DifferentiabilityInfo, release: Release) -> Iterator[NodeMember]:
    if retains_variables(info):
        yield NodeMember(RETAIN_VARIABLES, BOOL, MemberKind.RETAIN, "true", RETAIN_VARIABLES, BOOL)
    for attributes, is_output in ((info.all_saved_inputs, False), (info.all_saved_outputs, True)):
        for saved in sorted(attributes, key=lambda attribute: attribute.name):
            yield from _saved(saved, release, is_output=is_output)
    for binding in info.args_with_derivatives:
        if binding.is_tensor_list:
            name = list_size(binding.name)
            yield NodeMember(name, SIZE, MemberKind.SIZE, "0", name, SIZE)


def _saved(saved: SavedAttribute, release: Release, *, is_output: bool) -> Iterator[NodeMember]:
    unpacked = release.adapted_type(unpacked_type(saved, is_output=is_output))
    kind = _KINDS.get(unpacked.canonical, MemberKind.VALUE)
    name, type = saved.name, unpacked
    if kind in _WRAPPED:
        name, type = f"{name}_", _WRAPPED[kind]
    # the other types have default constructors for the empty value
    initial = "0" if type.canonical is INT64 else ""
    yield NodeMember(name, type, kind, initial, saved.name, unpacked, is_output, saved)
    if kind in OWNING and kind is not MemberKind.TENSOR:
        yield NodeMember(f"{saved.name}_released_", BOOL, MemberKind.RELEASED, "false")


#: The namespace of PyTorch's own nodes, which other libraries use.
IN_TREE = "torch::autograd::generated"
HEADER = "nodes.h"
TRACEABLE = "TraceableFunction"
UNTRACEABLE = "Node"
#: The prefix of the class names of foreach functions.
FOREACH = "Foreach"
#: The length of a call's arguments from which each is on a line of its own.
MAX_ARGUMENTS = 60


class NodeClass(Struct, frozen=True):
    """A node class.

    Attributes:
        info: the info whose gradients it computes.
        name: its name, ``AddBackward0``.
        base: its base class.
        members: its data members.
        header: the C++ of the class.
        source: the C++ of its functions, with the marks of :mod:`derivlint.emit.places`.
        file: the name of the YAML file.
        line: the line of the entry in it, or None for several entries.
        release: the PyTorch API of its code.
    """

    info: DifferentiabilityInfo
    name: str
    base: str
    members: tuple[NodeMember, ...]
    header: str
    source: str
    file: str
    line: int | None
    release: Release

    @property
    def listing(self) -> str:
        """The class and its functions for display, with the line in the YAML."""
        return f"{listing(self.header, self.file, self.line)}\n\n{listing(self.source, self.file, self.line)}"


def node_classes(model: Model, names: Collection[str] | None = None) -> tuple[NodeClass, ...]:
    """The classes of the nodes of a model: those of entries, of ``_copy`` twins of views, then of foreach functions.

    Args:
        model: a model without errors.
        names: the names of the classes; None for all.

    Raises:
        UnsupportedRelease: code cannot be emitted for the release of the operators.
    """
    infos = (info for info in _infos(model, names) if names is None or model.node_name(info) in names)
    return tuple(made for info in infos if (made := node_class(model, info)) is not None)


def _infos(model: Model, names: Collection[str] | None) -> Iterator[DifferentiabilityInfo]:
    yield from model.infos
    if names is not None and not any(name.startswith(FOREACH) for name in names):
        return
    # torchgen identifies foreach functions by their C++ names
    bases = {entry.function.canonical.name.base for entry in model.entries if entry.function is not None}
    foreach = (function for base in bases for function in model.natives.foreach_of(base))
    for function in sorted(foreach, key=lambda foreach_function: foreach_function.cpp_name):
        for info in model.match(function).infos.values():
            if info.source.kind == "foreach":
                yield info


def node_class(model: Model, info: DifferentiabilityInfo) -> NodeClass | None:
    """The class of one info's node, or None if nothing is differentiable.

    Raises:
        UnsupportedRelease: code cannot be emitted for the release of the operators.
    """
    op = model.node_name(info)
    if op is None or not info.args_with_derivatives:
        return None
    file = yaml_name(model.source.path)
    index = info.source.index
    name = str(info.func.name)
    key = "" if info.key == "Default" else f", {info.key}"
    origin = f"{file}: {name}{key}"
    base = UNTRACEABLE if info.name in model.book.names("untraceable") else TRACEABLE
    release = release_of(model.natives.version)
    own = members(info, release)
    return NodeClass(
        info,
        op,
        base,
        own,
        _header(op, base, own, origin, release),
        _source(info, op, own, origin, formula_statements(info, release), release),
        file,
        None if index is None else model.source.position(model.entries[index].span.start).line,
        release,
    )


def _header(name: str, base: str, own: Sequence[NodeMember], origin: str, release: Release) -> str:
    giving_back = []
    statements = list(_release(own))
    if statements:
        giving_back.append(fill(load("node_release.h"), statements="\n".join(statements)))
    if any(member.kind is MemberKind.RETAIN for member in own):
        giving_back.append(load("node_retain.h"))
    return fill(
        load("node_class.h"),
        origin=origin,
        name=name,
        base=base,
        members="\n".join(member.declaration for member in own),
        release="\n".join(giving_back),
        constness="const " if release.traces_gradients else "",
    )


def _release(own: Sequence[NodeMember]) -> Iterator[str]:
    for member in own:
        if member.kind is MemberKind.TENSOR:
            yield f"{member.name}.reset_data();"
        elif member.kind in OWNING:
            yield f"{member.name}.clear();"
            if member.kind is not MemberKind.SCALAR_LIST:
                yield f"{member.released} = true;"


def _source(
    info: DifferentiabilityInfo,
    name: str,
    own: Sequence[NodeMember],
    origin: str,
    formulas: list[str],
    release: Release,
) -> str:
    ranges = []
    for binding in info.args_with_derivatives:
        size = f"{binding.name}_size_" if binding.is_tensor_list else "1"
        ranges.append(f"const IndexRange {binding.name}_ix = gen.range({size});")
    count = len(ranges)
    tasks = [f"task_should_compute_output({{{binding.name}_ix}})," for binding in info.args_with_derivatives]
    needs = fill(load("node_needs.cpp"), ranges="\n".join(ranges), count=str(count), tasks="\n".join(tasks))
    saved = [member for member in own if member.saved is not None]
    # the order of arguments: sizes of lists, saved values, whether backward can run again
    passed = [member for member in own if member.kind is MemberKind.SIZE]
    passed += saved
    passed += [member for member in own if member.kind is MemberKind.RETAIN]
    parameters = ["variable_list&& grads", f"std::array<bool, {count}> needs_input_grad"]
    parameters += [_parameter(member) for member in passed]
    names = [member.variable for member in passed]
    is_locked = any(member.kind in OWNING for member in own)
    unpacking = "\n".join([*_unpacking(saved), needs])
    swapping = {
        "name": name,
        "before": "\n".join(f"saved.before({member.name});" for member in saved),
        "after": "\n".join(f"saved.after({member.name});" for member in saved),
    }
    if release.traces_gradients:
        arguments = _arguments(["*this", "grads", "saved", "needs_input_grad", *names])
        traced = fill(load("node_traced.cpp"), unpacking=unpacking, arguments=arguments, **swapping)
    else:
        traced = fill(load("node_traced_by_apply.cpp"), **swapping)
    return fill(
        load("node_class.cpp"),
        origin=origin,
        name=name,
        parameters=_on_lines(parameters),
        ranges="\n".join(ranges),
        gradients="\n".join(
            f"const Tensor& {name} = grads[{position}];" for name, position in incoming_gradients(info).items()
        ),
        formulas="\n".join(formulas),
        lock="std::lock_guard<std::mutex> lock(mutex_);" if is_locked else "",
        unpacking=unpacking,
        apply_arguments=_arguments(["std::move(grads)", "needs_input_grad", *names]),
        constness="const " if release.traces_gradients else "",
        collecting="\n".join(_collecting(saved, release)),
        traced=traced,
    )


def _parameter(member: NodeMember) -> str:
    # numbers of auxiliary members cannot be modified by formulas
    reference = "&" if member.saved is not None else ""
    return f"{member.variable_type}{reference} {member.variable}"


def _arguments(arguments: Sequence[str]) -> str:
    """Arguments on the line of their call, or one a line if they are long."""
    text = ", ".join(arguments)
    return text if len(text) <= MAX_ARGUMENTS else _on_lines(arguments)


def _on_lines(items: Sequence[str]) -> str:
    return "\n    " + ",\n    ".join(items)


def _unpacking(saved: Sequence[NodeMember]) -> Iterator[str]:
    lists = (MemberKind.TENSOR_LIST, MemberKind.OPTIONAL_TENSOR_LIST)
    for member in saved:
        if member.kind in lists:
            yield f"TORCH_CHECK(!{member.released}, ERR_BACKWARD_TWICE);"
    for member in saved:
        # a saved output is unpacked with its node, which it does not keep alive
        node = "getptr()" if member.is_output else ""
        if member.kind is MemberKind.TENSOR:
            yield f"auto {member.variable} = {member.name}.unpack({node});"
        elif member.kind is MemberKind.TENSOR_LIST:
            yield f"auto {member.variable} = unpack_list({', '.join(filter(None, (member.name, node)))});"
        elif member.kind is MemberKind.OPTIONAL_TENSOR_LIST:
            yield f"auto {member.variable} = unpack_opt_list({', '.join(filter(None, (member.name, node)))});"


def _collecting(saved: Sequence[NodeMember], release: Release) -> Iterator[str]:
    for member in saved:
        if release.collects_outputs and member.kind in OWNING and member.kind is not MemberKind.SCALAR_LIST:
            yield f"args.collect({member.name}, {'true' if member.is_output else 'false'});"
        else:
            yield f"args.collect({member.name});"


def formula_statements(info: DifferentiabilityInfo, release: Release) -> list[str]:
    """The statements that compute all gradients, in the API of a release."""
    indices = {binding.name: index for index, binding in enumerate(info.args_with_derivatives)}
    # a key with another name is an error of the file, without a gradient to assign
    derivatives = [derivative for derivative in info.derivatives if indices.keys() >= set(derivative.var_names)]
    statements = []
    if any(is_guarded(info, derivative) for derivative in derivatives):
        statements.append("const bool any_grad_defined = any_variable_defined(grads);")
    for derivative in derivatives:
        formula = derivative.written
        expression = _expression(derivative, release)
        if formula is not None:
            expression = marked(expression, formula.value_span.start)
        if len(derivative.var_names) == 1:
            statements.append(_single_statement(info, derivative, f"({expression})", indices))
        else:
            statements.append(_multi_statement(info, derivative, f"({expression})", indices))
    return statements


def _expression(derivative: Derivative, release: Release) -> str:
    """The formula, with what the model inserted spelled as in the C++ of the release."""
    spelled = [edit._replace(text=release.spelled(edit.text)) for edit in derivative.edits]
    changed = any(new != old for new, old in zip(spelled, derivative.edits, strict=True))
    return apply_edits(derivative.original_formula, spelled) if changed else derivative.formula


def _single_statement(
    info: DifferentiabilityInfo, derivative: Derivative, value: str, indices: Mapping[str, int]
) -> str:
    (argument,) = derivative.var_names
    condition = f"needs_input_grad[{indices[argument]}]"
    if is_guarded(info, derivative):
        if info.args_with_derivatives[indices[argument]].is_tensor_list:
            condition = f"any_grad_defined && {condition}"
        else:
            value = f"any_grad_defined ? {value} : Tensor()"
    template = load("node_foreach.cpp" if info.func.name.is_foreach else "node_single.cpp")
    return fill(template, condition=condition, argument=argument, value=value)


def _multi_statement(
    info: DifferentiabilityInfo, derivative: Derivative, value: str, indices: Mapping[str, int]
) -> str:
    needed = [f"needs_input_grad[{indices[name]}]" for name in derivative.var_names]
    mask = ""
    # as in torchgen: the text anywhere in the formula
    if GRAD_INPUT_MASK in derivative.formula:
        mask = f"const std::array<bool, {len(needed)}> {GRAD_INPUT_MASK}{{{', '.join(needed)}}};"
    copy = load("node_copy.cpp")
    copies = [
        fill(copy, index=str(indices[name]), argument=name, position=str(position))
        for position, name in enumerate(derivative.var_names)
    ]
    condition = " || ".join(needed)
    if is_guarded(info, derivative):
        condition = f"any_grad_defined && ({condition})"
    return fill(load("node_multi.cpp"), condition=condition, mask=mask, value=value, copies="\n".join(copies))


def nodes_header(classes: Sequence[NodeClass], namespace: str, *, guard: str = "") -> str:
    """The header that declares node classes.

    Args:
        classes: the classes.
        namespace: their namespace; in PyTorch's own they are exported.
        guard: the check that rejects the headers of another release.
    """
    exporting = "node_export_in_tree.h" if namespace == IN_TREE else "node_export_extension.h"
    return fill(
        _release_of(classes).template("nodes.h") + "\n",
        file=_file(classes),
        namespace=namespace,
        guard=guard,
        exporting=load(exporting),
        uses=load("node_uses_in_tree.h") if namespace == IN_TREE else "",
        classes="\n\n".join(node_class.header for node_class in classes),
    )


def nodes_source(classes: Sequence[NodeClass], namespace: str, *, header: str = HEADER) -> str:
    """A source file with the functions of node classes, all of them or a shard.

    Args:
        classes: the classes.
        namespace: their namespace.
        header: the header with the declarations.
    """
    tracing = ""
    if _release_of(classes).traces_gradients:
        # PyTorch's own nodes have their own names there
        prefix = "" if namespace == IN_TREE else namespace.replace("::", "_") + "_"
        tracing = fill(load("nodes_tracing.cpp"), prefix=prefix) + "\n"
    return fill(
        load("nodes.cpp") + "\n",
        file=_file(classes),
        header=header,
        namespace=namespace,
        tracing=tracing,
        definitions="\n\n".join(node_class.source for node_class in classes),
    )


def _file(classes: Sequence[NodeClass]) -> str:
    return classes[0].file if classes else "derivatives.yaml"


def _release_of(classes: Sequence[NodeClass]) -> Release:
    return classes[0].release if classes else DEFAULT
