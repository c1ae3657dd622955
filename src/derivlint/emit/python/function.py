"""The source of a ``torch.autograd.Function`` and of its public function."""

from __future__ import annotations

from collections.abc import Sequence

from derivlint.emit.python.plan import Plan, PlannedGradient, Tangent
from derivlint.emit.python.signature import (
    class_name,
    function_name,
    parameters,
    python_type,
    return_annotation,
)
from derivlint.emit.python.spelling import packet, python_name
from derivlint.emit.python.wrapping import assigned, indented, listed, return_statement, unpacked, wrapped
from derivlint.model.differentiable import is_tensor_list

RETAIN = "retain_variables"
MASK = "grad_input_mask"


class FunctionWriter:
    """Writes the Function of a plan."""

    def __init__(self, plan: Plan, *, register: bool = False) -> None:
        self.plan = plan
        self.arguments = plan.function.schema.arguments.flat_non_out
        self.register = register
        self.flat = [item for item in self.arguments if item.name in plan.flattened]
        self.plain = [item for item in self.arguments if item.name not in plan.flattened]
        #: lists whose lengths have to be recorded
        self.counted = self.flat[:-1]
        self.position = {item.name: index + len(self.counted) for index, item in enumerate(self.plain)}
        self.first_of_lists = len(self.counted) + len(self.plain)
        self.outputs = plan.outputs

    # ---- the lists at the end of the inputs

    def inputs(self, used: set[str]) -> list[str]:
        """The targets of unpacking ``inputs``."""
        names = [f"n_{item.name}" for item in self.counted]
        names += [python_name(item.name) if item.name in used else "_" for item in self.plain]
        if self.flat:
            names.append("*tensors" if self.counted else f"*{python_name(self.flat[0].name)}")
        return names

    def divided(self, suffix: str = "") -> list[str]:
        """The statements that divide the trailing tensors among several lists."""
        lines: list[str] = []
        start = ""
        if not self.counted:
            return lines
        for item in self.flat:
            end = "" if item is self.flat[-1] else " + ".join(filter(None, [start, f"n_{item.name}"]))
            lines.append(f"{python_name(item.name)}{suffix} = tensors{suffix}[{start}:{end}]")
            start = end
        return lines

    # ---- methods

    def forward(self) -> list[str]:
        """The method that calls the operator, below autograd."""
        function = self.plan.function
        names = [f"n_{item.name}: int" for item in self.counted]
        names += [f"{python_name(item.name)}: {python_type(item.type)}" for item in self.plain]
        if self.flat:
            names.append("*tensors: Tensor" if self.counted else f"*{python_name(self.flat[0].name)}: Tensor")
        keyword = {item.name for item in function.schema.arguments.flat_kwarg_only}
        arguments = [
            f"{item.name}={python_name(item.name)}" if item.name in keyword else python_name(item.name)
            for item in self.arguments
        ]
        call = listed(f"return {packet(function)}(", arguments, ")", depth=3)
        if self.plan.returns_list:
            call = listed(f"return tuple({packet(function)}(", arguments, "))", depth=3)
        if self.register and self.plan.is_inplace:
            # under torch.func an operator returns another object than its argument
            call = [
                *listed(f"{packet(function)}(", arguments, ")", depth=3),
                f"return {python_name(self.arguments[0].name)}",
            ]
        annotation = return_annotation(function.schema)
        return [
            "@staticmethod",
            *listed("def forward(", names, f") -> {annotation}:", depth=1),
            *indented(self.divided()),
            "    with F.below_autograd():",
            *indented(call, 2),
        ]

    def kept_for_forward(self) -> tuple[list[str], list[str]]:
        """The names of tensors and of other values that tangents need."""
        tensors: dict[str, None] = {}
        values: dict[str, None] = {}
        used = {name for tangent in self.plan.tangents for name in tangent.value.names}
        needed = {name for tangent in self.plan.tangents for name in self.primals(tangent)}
        for item in self.arguments:
            if item.name in used or f"{item.name}_p" in used or item.name in needed:
                kind = tensors if item.type.is_tensor_like else values
                kind[item.name] = None
        for name in self.outputs:
            if name in used:
                tensors[name] = None
        return list(tensors), list(values)

    def primals(self, tangent: Tangent) -> list[str]:
        """The arguments whose shapes are needed for zero tangents."""
        lists = {item.name for item in self.flat}
        named = [name for name in tangent.needs if f"{name}_t" in tangent.value.names or name in lists]
        return named if len(tangent.needs) > 1 or set(named) & lists or not tangent.is_total else []

    def setup_context(self) -> list[str]:
        """The ``setup_context`` method, which saves the values that formulas need."""
        plan = self.plan
        lines = ["ctx.set_materialize_grads(False)"]
        if plan.is_inplace:
            lines.append(f"ctx.mark_dirty({python_name(self.arguments[0].name)})")
        hidden = [
            name
            for index, name in enumerate(self.outputs)
            if index not in plan.differentiable and str(plan.function.schema.returns[index].type) == "Tensor"
        ]
        if hidden:
            lines += listed("ctx.mark_non_differentiable(", list(map(python_name, hidden)), ")", depth=2)
        backward = [
            python_name(s.name) if s.kind == "tensor" else f"*{python_name(s.name)}"
            for s in plan.saved
            if s.kind != "value"
        ]
        if backward:
            lines += listed("ctx.save_for_backward(", backward, ")", depth=2)
        tensors, values = self.kept_for_forward() if plan.tangents else ([], [])
        if tensors:
            forward = [f"*{python_name(name)}" if self.is_list(name) else python_name(name) for name in tensors]
            lines += listed("ctx.save_for_forward(", forward, ")", depth=2)
        counted = [s.name for s in plan.saved if s.kind == "tensors"] + [name for name in tensors if self.is_list(name)]
        lines += [f"ctx.n_{name} = len({python_name(name)})" for name in dict.fromkeys(counted)]
        for item in self.counted:
            if item.name not in counted:
                lines.append(f"ctx.n_{item.name} = n_{item.name}")
        lines += [f"ctx.{python_name(s.name)} = {s.value.text}" for s in plan.saved if s.kind == "value"]
        stored_values = {s.name for s in plan.saved if s.kind == "value"}
        lines += [f"ctx.{python_name(name)} = {python_name(name)}" for name in values if name not in stored_values]
        used = {name for s in plan.saved for name in s.value.names} | set(tensors) | set(values)
        used |= {self.arguments[0].name} if plan.is_inplace else set()
        used |= {item.name for item in self.flat}
        needed = used | set(hidden)
        head: list[str] = []
        if any(item.name in used for item in (*self.plain, *self.flat)):
            head += unpacked(self.inputs(used), "inputs", depth=2) + self.divided()
        targets = [python_name(name) if name in needed else "_" for name in self.outputs]
        if any(name != "_" for name in targets):
            head += [f"{targets[0]} = output"] if len(targets) == 1 else unpacked(targets, "output", depth=2)
        return [
            "@staticmethod",
            "def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:",
            *indented([*head, *lines]),
        ]

    def is_list(self, name: str) -> bool:
        """Whether an argument or output is a list of tensors."""
        for item in self.arguments:
            if item.name == name:
                return is_tensor_list(item.type)
        return self.plan.returns_list and name in self.outputs

    def unpack_saved(self, tensors: Sequence[tuple[str, bool]]) -> list[str]:
        """The statements that unpack saved tensors; ``ctx`` has the lengths of lists."""
        if not tensors:
            return []
        lists = [name for name, is_list in tensors if is_list]
        if not lists:
            return unpacked([python_name(name) for name, _ in tensors], "ctx.saved_tensors", depth=2)
        if len(lists) == 1:
            names = [f"*{python_name(name)}" if is_list else python_name(name) for name, is_list in tensors]
            return unpacked(names, "ctx.saved_tensors", depth=2)
        lines = ["saved = iter(ctx.saved_tensors)"]
        for name, is_list in tensors:
            value = f"[next(saved) for _ in range(ctx.n_{name})]" if is_list else "next(saved)"
            lines.append(f"{python_name(name)} = {value}")
        return lines

    def needs(self, argument: str) -> str:
        """The expression that tests whether an argument needs its gradient."""
        if argument in self.position:
            return f"ctx.needs_input_grad[{self.position[argument]}]"
        first = self.first_of_lists
        if not self.counted:
            return f"any(ctx.needs_input_grad[{first}:])" if first else "any(ctx.needs_input_grad)"
        sizes = [f"ctx.n_{item.name}" for item in self.flat]
        place = [item.name for item in self.flat].index(argument)
        start = " + ".join([str(first), *sizes[:place]])
        end = " + ".join([str(first), *sizes[: place + 1]]) if place + 1 < len(sizes) else ""
        return f"any(ctx.needs_input_grad[{start} : {end}])".replace(" : ]", " :]")

    def backward(self) -> list[str]:
        """The method with the backward formulas."""
        plan = self.plan
        used = {name for gradient in plan.gradients for name in gradient.value.names}
        lines = self.unpack_saved([(s.name, s.kind == "tensors") for s in plan.saved if s.kind != "value"])
        for s in plan.saved:
            if s.kind == "value":
                lines.append(f"{python_name(s.name)} = ctx.{python_name(s.name)}")
        if RETAIN in used:
            # a Function cannot know whether it runs again
            lines.append(f"{RETAIN} = True")
        returned = 1 if plan.returns_list else len(self.outputs)
        selects = not plan.returns_list and plan.differentiable != tuple(range(returned))
        grads = "grad_outputs"
        guarded = any(gradient.guarded for gradient in plan.gradients)
        if "grads" in used or (guarded and len(plan.gradient_names) != 1):
            grads = "grads"
            picked = f"[grad_outputs[i] for i in {plan.differentiable}]" if selects else "grad_outputs"
            lines.append(f"grads = {picked}")
        for name, position in plan.gradient_names.items():
            lines.append(f"{name} = grad_outputs[{position}]")
        if guarded:
            if len(plan.gradient_names) == 1 and grads != "grads":
                defined = f"{next(iter(plan.gradient_names))} is not None"
            elif plan.returns_list or len(plan.differentiable) > 1:
                defined = f"any(each is not None for each in {grads})"
            else:
                defined = f"{grads}[0] is not None"
        else:
            defined = ""
        done = [name for gradient in plan.gradients if not gradient.raises for name in gradient.names]
        results = {name: python_name(f"grad_{name}") for name in done}
        # the gradient of "output" is not the argument "grad_output"
        taken = {*plan.gradient_names, *used, *(saved.name for saved in plan.saved)}
        results = {name: f"grad_of_{name}" if text in taken else text for name, text in results.items()}
        single = [results[name] for name in done if name not in plan.flattened]
        if single:
            lines.append(f"{' = '.join(single)} = None")
        for name in plan.flattened:
            if name in results:
                lines.append(f"{results[name]}: Sequence[Tensor | None] = [None] * {self.length(name)}")
        for gradient in plan.gradients:
            lines += self.gradient(gradient, defined, results)
        values = ["None"] * len(self.counted) + [results.get(item.name, "None") for item in self.plain]
        values += [
            f"*{results[item.name]}" if item.name in results else f"*([None] * {self.length(item.name)})"
            for item in self.flat
        ]
        return [
            "@staticmethod",
            "def backward(ctx: Any, *grad_outputs: Any) -> Any:",
            *indented([*lines, *return_statement(values, depth=2)]),
        ]

    def length(self, name: str) -> str:
        """The expression for the length of a trailing list, in ``backward``."""
        if not self.counted:
            total = "len(ctx.needs_input_grad)"
            return f"({total} - {self.first_of_lists})" if self.first_of_lists else total
        if name != self.flat[-1].name:
            return f"ctx.n_{name}"
        lengths = " - ".join(f"ctx.n_{item.name}" for item in self.counted)
        return f"(len(ctx.needs_input_grad) - {self.first_of_lists} - {lengths})"

    def gradient(self, gradient: PlannedGradient, defined: str, results: dict[str, str]) -> list[str]:
        """The statements of one backward formula."""
        names, value = gradient.names, gradient.value.text
        needed = [self.needs(name) for name in names]
        if gradient.raises:
            # a gradient that is not requested does not raise
            needed = [
                f"F.computes(ctx, {self.position[name]})" if name in self.position else self.needs(name)
                for name in names
            ]
        condition = " or ".join(needed)
        if gradient.guarded:
            condition = f"{defined} and ({condition})" if len(needed) > 1 else f"{defined} and {condition}"
        lines = wrapped("if ", condition, ":", 8)
        if gradient.raises:
            return [*lines, *indented([value])]
        mask, targets = f"[{', '.join(needed)}]", ", ".join(results[name] for name in names)
        if MASK in gradient.value.names:
            lines += indented(assigned(MASK, mask, depth=3))
            mask = MASK
        lines += indented(assigned(targets, value, depth=3))
        if len(names) > 1:
            lines += indented(assigned(targets, f"F.needed({mask}, {targets})", depth=3))
        return lines

    def jvp(self) -> list[str]:
        """The method with the forward formulas."""
        plan = self.plan
        tensors, values = self.kept_for_forward()
        used = {name for tangent in plan.tangents for name in tangent.value.names}
        refusals = {
            name: gradient.value.text for gradient in plan.gradients if gradient.raises for name in gradient.names
        }
        # operators read arguments as constants; helpers handle tangents themselves
        read = {name for tangent in plan.tangents if tangent.value.operators for name in tangent.value.names}
        refusals = {name: text for name, text in refusals.items() if name in read and name in self.position}
        tangent_names = {name for tangent in plan.tangents for name in tangent.needs} | refusals.keys()
        lines: list[str] = []
        names = [f"n_{item.name}" for item in self.counted]
        names += [f"{item.name}_t" if item.name in tangent_names else "_" for item in self.plain]
        if self.flat:
            names.append("*tensors_t" if self.counted else f"*{self.flat[0].name}_t")
        if any(name != "_" for name in names):
            lines += unpacked(names, "tangents", depth=2)
        for item in self.counted:
            lines.append(f"n_{item.name} = ctx.n_{item.name}")
        lines += self.divided("_t")
        lines += self.unpack_saved([(name, self.is_list(name)) for name in tensors])
        lines += [f"{python_name(name)} = ctx.{python_name(name)}" for name in values]
        results = {name: f"{name}_t_out" if f"{name}_t" in used else f"{name}_t" for name in plan.outputs}
        done = [name for tangent in plan.tangents for name in tangent.names]
        returned = self.outputs
        keys = {output.key_name: output.name for output in plan.entry.function.outputs} if plan.entry.function else {}
        if plan.is_inplace:
            # the output is the argument itself
            keys["self"] = plan.outputs[0]
        absent = [
            results[keys.get(name, name)] for tangent in plan.tangents if tangent.is_total for name in tangent.names
        ]
        if absent:
            lines.append(f"{' = '.join(absent)} = None")
        renamed: set[str] = set()
        for tangent in plan.tangents:
            body: list[str] = []
            for name in sorted(refusals.keys() & tangent.value.names):
                condition = f"{name}_t is not None and ({self.has_tangent(tangent)})"
                lines += [*wrapped("if ", condition, ":", 8), f"    {refusals[name]}"]
            for name in self.primals(tangent):
                if name in plan.flattened:
                    continue
                body.append(f"{name}_t = F.tangent({name}_t, {python_name(name)})")
            for item in self.arguments:
                if f"{item.name}_p" in tangent.value.names and item.name not in renamed:
                    renamed.add(item.name)
                    lines.append(f"{item.name}_p = {python_name(item.name)}")
            for name in plan.flattened:
                if name in tangent.value.names:
                    lines.append(f"{python_name(name)} = F.Duals({python_name(name)}, {name}_t)")
                    body.append(f"{name}_t = {python_name(name)}.tangents")
                elif f"{name}_t" in tangent.value.names:
                    body.append(f"{name}_t = F.Duals({python_name(name)}, {name}_t).tangents")
            targets = ", ".join(results[keys.get(name, name)] for name in tangent.names)
            body += assigned(targets, tangent.value.text, depth=3 if tangent.is_total else 2)
            if tangent.is_total:
                lines += [*wrapped("if ", self.has_tangent(tangent), ":", 8), *indented(body)]
            else:
                # an output without a tangent is one that PyTorch ignores
                lines += body
        final = [results[name] if name in {keys.get(n, n) for n in done} else "None" for name in returned]
        if plan.returns_list:
            lines.append(f"return None if {final[0]} is None else tuple({final[0]})")
        else:
            lines += return_statement(final, depth=2)
        return ["@staticmethod", "def jvp(ctx: Any, *tangents: Any) -> Any:", *indented(lines)]

    def has_tangent(self, tangent: Tangent) -> str:
        """The expression that tests whether one of the arguments of a tangent has a tangent."""
        parts = []
        for name in tangent.needs:
            if name in self.plan.flattened:
                parts.append(f"any(each is not None for each in {name}_t)")
            else:
                parts.append(f"{name}_t is not None")
        return " or ".join(parts)

    def public(self) -> list[str]:
        """The public function, with the signature of the operator."""
        function = self.plan.function
        arguments = [f"len({python_name(item.name)})" for item in self.counted]
        arguments += [python_name(item.name) for item in self.plain] + [
            f"*{python_name(item.name)}" for item in self.flat
        ]
        annotation = return_annotation(function.schema)
        call = f"return {class_name(function)}.apply("
        if self.register:
            call, arguments = "return F.applied(", [class_name(function), *arguments]
        return [
            *listed(f"def {function_name(function)}(", parameters(function.schema), f") -> {annotation}:", depth=0),
            f'    """{function.schema}"""',
            *indented(listed(call, arguments, ")", depth=1)),
        ]
