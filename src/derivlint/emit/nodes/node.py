"""From an info to the class of its node.

Follows torchgen/packaged/autograd/gen_autograd_functions.py (``process_function``) in what a node does; the text is
made for the API of torch/csrc/autograd/node.h and torch/csrc/dynamo/compiled_autograd.h.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from derivlint.emit.nodes.formulas import formula_statements
from derivlint.emit.nodes.members import OWNING, MemberKind, NodeMember, members
from derivlint.emit.release import Release, release_of
from derivlint.emit.template import fill, load, yaml_name
from derivlint.model import DifferentiabilityInfo, Model
from derivlint.model.generated.gradients import incoming_gradients

TRACEABLE = "TraceableFunction"
UNTRACEABLE = "Node"
#: What the names of the classes of foreach functions begin with.
FOREACH = "Foreach"
#: Longer arguments of a call are on lines of their own.
LONGEST_ARGUMENTS = 60


class NodeClass(Struct, frozen=True):
    """A node class.

    Attributes:
        info: what it computes the gradients of.
        name: its name, ``AddBackward0``.
        base: its base class.
        members: its data members.
        header: the C++ of the class.
        source: the C++ of its functions; holds the marks of :func:`derivlint.emit.template.number_lines`.
        file: the name of the YAML file.
        line: the line of the entry in it.
        release: the API of PyTorch that it is written against.
    """

    info: DifferentiabilityInfo
    name: str
    base: str
    members: tuple[NodeMember, ...]
    header: str
    source: str
    file: str
    line: int
    release: Release


def node_classes(model: Model, names: Collection[str] | None = None) -> tuple[NodeClass, ...]:
    """The classes of the nodes of a model: those of entries, of ``_copy`` twins of views, then of foreach functions.

    Args:
        model: a model without errors.
        names: the names of the classes to make; None for all.

    Raises:
        UnsupportedRelease: the operators are those of a release that code cannot be emitted for.
    """
    infos = (info for info in _infos(model, names) if names is None or model.node_name(info) in names)
    return tuple(made for info in infos if (made := node_class(model, info)) is not None)


def _infos(model: Model, names: Collection[str] | None) -> Iterator[DifferentiabilityInfo]:
    yield from model.infos
    if names is not None and not any(name.startswith(FOREACH) for name in names):
        return
    # torchgen meets foreach functions by their C++ names
    bases = {entry.function.canonical.name.base for entry in model.entries if entry.function is not None}
    foreach = (function for base in bases for function in model.natives.foreach_of(base))
    for function in sorted(foreach, key=lambda foreach_function: foreach_function.cpp_name):
        for info in model.match(function).infos.values():
            if info.source.kind == "foreach":
                yield info


def node_class(model: Model, info: DifferentiabilityInfo) -> NodeClass | None:
    """The class of one info's node; None where nothing is differentiable.

    Raises:
        UnsupportedRelease: the operators are those of a release that code cannot be emitted for.
    """
    op = model.node_name(info)
    if op is None or not info.args_with_derivatives:
        return None
    source = model.source
    file = yaml_name(source.path)
    index = info.source.index
    line = source.position(model.entries[index].span.start).line if index is not None else 1
    name = str(info.func.name)
    key = "" if info.key == "Default" else f", {info.key}"
    origin = f"{file}:{line}: {name}{key}"
    base = UNTRACEABLE if info.name in model.book.names("untraceable") else TRACEABLE
    release = release_of(model.natives.version)
    own = members(info, release)
    return NodeClass(
        info,
        op,
        base,
        own,
        _header(op, base, own, origin, release),
        _source(info, op, own, origin, formula_statements(info, source, file, release), release),
        file,
        line,
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
    # the order of arguments: sizes of lists, what was saved, whether backward can run again
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
    # numbers that go with other members are not members that formulas could change
    reference = "&" if member.saved is not None else ""
    return f"{member.variable_type}{reference} {member.variable}"


def _arguments(arguments: Sequence[str]) -> str:
    """Arguments on the line of their call, or each on its own where that would be long."""
    text = ", ".join(arguments)
    return text if len(text) <= LONGEST_ARGUMENTS else _on_lines(arguments)


def _on_lines(items: Sequence[str]) -> str:
    return "\n    " + ",\n    ".join(items)


def _unpacking(saved: Sequence[NodeMember]) -> Iterator[str]:
    lists = (MemberKind.TENSOR_LIST, MemberKind.OPTIONAL_TENSOR_LIST)
    for member in saved:
        if member.kind in lists:
            yield f"TORCH_CHECK(!{member.released}, ERR_BACKWARD_TWICE);"
    for member in saved:
        # an output is unpacked with the node that made it, which a saved output does not keep alive
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
