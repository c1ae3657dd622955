"""Files that grow: for each way in which an input can be long a function from a size to a text.

Each is valid as far as it can be, so that every rule has to look at it, and each has its own documented limit where
there is one: :data:`LIMITED` names the shapes which end in a finding about that.
"""

from __future__ import annotations

from collections.abc import Callable

#: A text of a size: the number of what is repeated.
Shape = Callable[[int], str]

SIN = "- name: sin(Tensor self) -> Tensor\n  self: "
MUL = "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  other: grad * self\n  self: "
CONDITION = "self.is_complex()"


def formula(build: Shape, entry: str = SIN) -> Shape:
    """Formulas in single quotes, which YAML leaves alone."""
    return lambda size: f"{entry}'{build(size)}'\n"


def lines(build: Callable[[int], str], head: str = "", tail: str = "") -> Shape:
    """A text with a part for each number below the size."""
    return lambda size: head + "".join(map(build, range(size))) + tail


def nested(before: str, middle: str, after: str) -> Shape:
    """``before`` as often as the size says, then ``middle``, then as many times ``after``."""
    return lambda size: before * size + middle + after * size


#: What grows inside of one formula.
FORMULAS: dict[str, Shape] = {
    "chained calls": formula(lambda n: "grad * self" + ".sin()" * n),
    "chained calls of the transposition": formula(lambda n: "grad * self" + ".t()" * n),
    "chained conjugations": formula(lambda n: "grad * self" + ".conj()" * n),
    "chained calls with arguments": formula(lambda n: "grad * self" + ".to(at::kFloat)" * n),
    "chained accesses": formula(lambda n: "grad * self" + ".options" * n),
    "nested calls": formula(lambda n: "grad * " + nested("at::sin(", "self", ")")(n)),
    "nested calls of helpers": formula(lambda n: nested("handle_r_to_c(self.scalar_type(), ", "grad", ")")(n)),
    "nested calls of an unknown function": formula(nested("f(", "grad", ")")),
    "nested arguments twice": formula(lambda n: nested("at::mul(self, ", "grad", ")")(n)),
    "nested conditions": formula(nested("(", CONDITION, f" ? {CONDITION} : {CONDITION})")),
    "conditionals to the right": formula(lambda n: f"{CONDITION} ? grad : " * n + "grad * self"),
    "conditionals to the left": formula(nested(f"({CONDITION} ? ", "grad", " : grad * self)")),
    "brackets": formula(nested("(", "grad", ")")),
    "open brackets": formula(lambda n: "(" * n),
    "subscripts": formula(lambda n: "grads" + "[0]" * n),
    "nested subscripts": formula(nested("grads[", "0", "]")),
    "lambdas": formula(nested("[&]() { return ", "grad", "; }()")),
    "lambdas without a call": formula(nested("[&]() { return ", "grad", "; }")),
    "lambdas with parameters": formula(nested("[&](Tensor x) { return ", "x", "; }(grad)")),
    "a lambda with statements": formula(lambda n: "[&]() { " + "auto x = grad; " * n + "return x; }()"),
    "a lambda with parameters": formula(
        lambda n: "[&](" + ", ".join(f"Tensor a{i}" for i in range(n)) + ") { return grad; }()"
    ),
    "a product": formula(lambda n: "grad" + " * self" * n),
    "a product of gradients": formula(lambda n: "grad" + " * grad" * n),
    "a product of products": formula(lambda n: "(grad * self) + " * n + "grad"),
    "a sum": formula(lambda n: "grad" + " + grad" * n),
    "a sum of calls": formula(lambda n: "grad" + " + grad * self.cos().conj()" * n),
    "a difference to the right": formula(nested("(grad - ", "grad", ")")),
    "a quotient": formula(lambda n: "grad" + " / self" * n),
    "comparisons": formula(lambda n: "grad * (self" + " < self" * n + ")"),
    "logic": formula(lambda n: f"({CONDITION}{f' && {CONDITION}' * n}) ? grad : grad"),
    "commas": formula(lambda n: "(grad" + ", grad" * n + ")"),
    "unary operators": formula(lambda n: "- " * n + "grad"),
    "negations": formula(lambda n: "!" * n + "grad"),
    "casts": formula(lambda n: "(Tensor) " * n + "grad"),
    "assignments": formula(lambda n: "grad = " * n + "grad"),
    "arguments": formula(lambda n: "f(" + "grad, " * n + "grad)"),
    "arguments of a helper": formula(lambda n: "mul_tensor_backward(" + "grad, " * n + "grad)"),
    "arguments of an operator": formula(lambda n: "at::cat(" + "grad, " * n + "grad)"),
    "a braced list": formula(lambda n: "at::cat({" + "grad, " * n + "grad}, 0)"),
    "a braced list of numbers": formula(lambda n: "grad.sum({" + "0, " * n + "0})"),
    "nested braced lists": formula(nested("{", "grad", "}")),
    "template arguments": formula(lambda n: "std::tuple<" + "Tensor, " * n + "Tensor>{grad}"),
    "nested template arguments": formula(lambda n: nested("std::vector<", "Tensor", ">")(n) + "{grad}"),
    "nested arrays": formula(lambda n: nested("std::array<", "Tensor", ", 1>")(n) + nested("{{", "grad", "}}")(n)),
    "nested optionals": formula(lambda n: nested("std::optional<", "Tensor", ">")(n) + nested("{", "grad", "}")(n)),
    "nested vectors": formula(lambda n: nested("std::vector<", "Tensor", ">")(n) + nested("{", "grad", "}")(n)),
    "nested tuples": formula(nested("std::make_tuple(", "grad", ", grad)")),
    "nested tuple types": formula(
        lambda n: nested("std::tuple<Tensor, ", "Tensor", ">")(n) + nested("{grad, ", "grad", "}")(n)
    ),
    "braced lists for a helper": formula(lambda n: f"at::cat({nested('{', 'grad', '}')(n)}, 0)"),
    "addresses": formula(lambda n: "*&" * n + "grad"),
    "angles": formula(lambda n: "f<" * n + "grad"),
    "a qualified name": formula(lambda n: "a::" * n + "f(grad)"),
    "string literals": formula(lambda n: "f(" + '"grad" ' * n + ")"),
    "a string literal": formula(lambda n: 'f("' + "grad " * n + '")'),
    "comments in a formula": formula(lambda n: "grad /* self */ " * n),
    "undeclared names": formula(lambda n: " + ".join(f"slef{i}" for i in range(n + 1))),
    "undeclared functions": formula(lambda n: " + ".join(f"fnu{i}(grad)" for i in range(n + 1))),
    "undeclared members": formula(lambda n: " + ".join(f"grad.fnu{i}()" for i in range(n + 1))),
    "saved properties": formula(lambda n: "grad" + " * self.sym_size(0)" * n),
    "saved sizes": formula(lambda n: "grad" + " + f(self.sym_sizes())" * n),
    "different saved sizes": formula(
        lambda n: "grad * f({" + "".join(f"self.sym_size({i}), " for i in range(n)) + "0})"
    ),
    "saved properties in a list": formula(lambda n: "f({" + "self.scalar_type(), " * n + "0})"),
    "saved sizes of a list": formula(
        lambda n: "f({" + "self.sym_sizes(), " * n + "0})", MUL.replace("grad * self", "grad")
    ),
    "undeclared names in a list": formula(lambda n: "f({" + "".join(f"slef{i}, " for i in range(n)) + "0})"),
    "undeclared functions in a list": formula(lambda n: "f({" + "".join(f"fnl{i}(grad), " for i in range(n)) + "0})"),
    "undeclared members in a list": formula(lambda n: "f({" + "".join(f"grad.fnl{i}(), " for i in range(n)) + "0})"),
    "wrong calls in a list": formula(lambda n: "f({" + "at::sin(), " * n + "0})"),
    "wrong types in a list": formula(lambda n: "f({" + "at::sin(true), " * n + "0})"),
    "gradients in a list": formula(lambda n: "f({" + "grads[1], " * n + "0})"),
    "conditionals in a list": formula(lambda n: f"f({{{f'{CONDITION} ? grad : self, ' * n}0}})"),
    "products in a list": formula(lambda n: f"at::cat({{{'grad * self.cos(), ' * n}grad}})"),
    "sums in a list": formula(lambda n: f"at::cat({{{'(grad + self), ' * n}grad}})"),
    "lambdas in a list": formula(lambda n: f"f({{{'[&](Tensor x) { return x + grad; }(self), ' * n}grad}})"),
    "strings in a list": formula(lambda n: "f({" + '"self", ' * n + "0})"),
    "named gradients": formula(lambda n: "grad" + " + grads[0]" * n),
    "numbers": formula(lambda n: "grad" + " + 1" * n),
    "a long number": formula(lambda n: "grad * 1" + "0" * n),
    "a long fraction": formula(lambda n: "grad * 1." + "0" * n),
    "a long number in base 16": formula(lambda n: "grad * 0x" + "f" * n),
    "a long name": formula(lambda n: "grad * a" + "b" * n),
    "semicolons": formula(lambda n: "grad" + ";" * n),
    "questions": formula(lambda n: "grad ? " * n),
}

#: What grows in an entry, or in a file of entries.
ENTRIES: dict[str, Shape] = {
    "entries": lines(lambda i: f"- name: zz{i}(Tensor self) -> Tensor\n  self: grad\n"),
    "entries of one name": lines(lambda i: f"{SIN}grad * self.cos().conj()\n"),
    "entries of two keys": lines(
        lambda i: (
            "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self: grad * other\n  other: grad * self\n"
        )
    ),
    "entries without a name": lines(lambda i: "- self: grad\n"),
    "empty entries": lines(lambda i: "- {}\n"),
    "entries that are not mappings": lines(lambda i: "- grad\n"),
    "entries with a broken schema": lines(lambda i: f"- name: zz{i}(Tensor self -> Tensor\n  self: grad\n"),
    "unknown keys": lines(lambda i: f"  k{i}: grad\n", SIN + "grad\n"),
    "equal unknown keys": lines(lambda i: "  other: grad\n", SIN + "grad\n"),
    "equal keys": lines(lambda i: "  self: grad\n", SIN + "grad\n"),
    "names within a key": lambda n: f"{SIN}grad\n  '{'other, ' * n}self': grad\n",
    "different names within a key": lines(lambda i: f"a{i}, ", f"{SIN}grad\n  '", "self': grad\n"),
    "a long key": lambda n: f"{SIN}grad\n  {'k' * n}: grad\n",
    "dispatch keys": lines(
        lambda i: f"    Key{i}:\n      self: grad * self.cos()\n",
        "- name: sin(Tensor self) -> Tensor\n  dispatch:\n    Default:\n      self: grad\n",
    ),
    "equal dispatch keys": lines(
        lambda i: "    CUDA:\n      self: grad * self.cos()\n",
        "- name: sin(Tensor self) -> Tensor\n  dispatch:\n    Default:\n      self: grad\n",
    ),
    "empty dispatch keys": lines(lambda i: f"    Key{i}: {{}}\n", "- name: sin(Tensor self) -> Tensor\n  dispatch:\n"),
    "output_differentiability": lambda n: f"{SIN}grad\n  output_differentiability: [{'True, ' * n}True]\n",
    "output_differentiability of conditions": lambda n: (
        f"{SIN}grad\n  output_differentiability: [{', '.join(['self.is_complex()'] * (n + 1))}]\n"
    ),
    "output_differentiability of a view": lambda n: (
        "- name: chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]\n"
        f"  output_differentiability: [{'False, ' * n}False]\n  self: grad\n"
    ),
    "arguments of a schema": lines(lambda i: f"Tensor a{i}, ", "- name: f(", "Tensor b) -> Tensor\n  b: grad\n"),
    "results of a schema": lines(lambda i: f"Tensor r{i}, ", "- name: f(Tensor a) -> (", "Tensor b)\n  a: grads[0]\n"),
    "arguments of a schema with formulas": lambda n: (
        f"- name: f({''.join(f'Tensor a{i}, ' for i in range(n))}Tensor b) -> Tensor\n"
        + "".join(f"  a{i}: grad\n" for i in range(n))
        + "  b: grad\n"
    ),
    "arguments of a schema in a formula": lambda n: (
        f"- name: f({''.join(f'Tensor a{i}, ' for i in range(n))}Tensor b) -> Tensor\n"
        f"  b: g({{{''.join(f'a{i}, ' for i in range(n))}grad}})\n"
    ),
    "results of a schema in a formula": lambda n: (
        f"- name: f(Tensor b) -> ({''.join(f'Tensor r{i}, ' for i in range(n))}Tensor r)\n"
        f"  b: g({{{''.join(f'grad_r{i}, ' for i in range(n))}grad_r}})\n"
    ),
    "names of a key with formulas": lambda n: (
        f"- name: f({''.join(f'Tensor a{i}, ' for i in range(n))}Tensor b) -> Tensor\n"
        # a key that is longer than 1,024 characters has to say that it is one
        f"  ? {''.join(f'a{i}, ' for i in range(n))}b\n  : g(grad, grad_input_mask)\n"
    ),
    "brackets of a schema": lambda n: f"- name: 'f(Tensor{'[]' * n} self) -> Tensor'\n  self: grad\n",
    "a long default": lambda n: f"- name: f(Tensor self, int[] x=[{'0, ' * n}0]) -> Tensor\n  self: grad\n",
    "a long operator name": lambda n: f"- name: {'f' * (n + 1)}(Tensor self) -> Tensor\n  self: grad\n",
}

#: What grows in the YAML around.
YAML: dict[str, Shape] = {
    "flow lists": nested("[", "", "]"),
    "flow mappings": nested("{a: ", "", "}"),
    "open flow lists": lambda n: "[" * n,
    "open flow mappings": lambda n: "{a: " * n,
    "lists in lists": lambda n: "- " * n + "a\n",
    "nested blocks": lambda n: "".join("  " * min(i, 4000) + "a:\n" for i in range(n)),
    "nested blocks in entries": lines(lambda i: f"- name: x{i}\n  a:\n    b:\n      c:\n        d: e\n"),
    "a long flow list": lambda n: f"{SIN}[{'grad, ' * n}grad]\n",
    "a long flow mapping": lines(
        lambda i: f"k{i}: grad, ", SIN.replace("- name", "- {name").replace("\n  self: ", ", "), "z: 1}\n"
    ),
    "a list as a formula": lines(lambda i: "    - grad\n", SIN + "\n"),
    "aliases": lambda n: "- &a {name: 'sin(Tensor self) -> Tensor', self: grad}\n" + "- *a\n" * n,
    "aliases of formulas": lambda n: f"{SIN}&a grad * self\n" + "- name: cos(Tensor self) -> Tensor\n  self: *a\n" * n,
    "anchors": lines(lambda i: f"- &a{i} {{name: 'sin(Tensor self) -> Tensor', self: grad}}\n"),
    "a plain scalar": lambda n: SIN + "grad + " * n + "grad\n",
    "a folded plain scalar": lambda n: SIN + "grad\n" + "    + grad\n" * n,
    "a quoted scalar": lambda n: f'{SIN}"' + "grad + " * n + 'grad"\n',
    "a quoted scalar of escapes": lambda n: f'{SIN}"' + "\\x67rad + " * n + 'grad"\n',
    "a folded quoted scalar": lambda n: f"{SIN}'grad\n" + "    + grad\n" * n + "    '\n",
    "quotation marks": lambda n: f"{SIN}'{chr(39) * 2 * n}'\n",
    "a literal block": lambda n: f"{SIN}|\n" + "    grad +\n" * n + "    grad\n",
    "a folded block": lambda n: f"{SIN}>\n" + "    grad +\n" * n + "    grad\n",
    "blank lines in a block": lambda n: f"{SIN}>\n    grad +\n" + "\n" * n + "    grad\n",
    "blank lines": lambda n: f"{SIN}grad\n" + "\n" * n + f"{SIN}grad\n",
    "comments": lambda n: "# a comment\n" * n + f"{SIN}grad\n",
    "names of rules in a comment": lambda n: f"# derivlint: ignore[{'a-rule, ' * n}a-rule] x\n{SIN}grad\n",
    "comments after values": lines(
        lambda i: f"- name: zz{i}(Tensor self) -> Tensor # a comment\n  self: grad # another\n"
    ),
    "carriage returns": lambda n: f"{SIN}grad * self.cos().conj()\n".replace("\n", "\r\n") * n,
    "lone carriage returns": lambda n: f"{SIN}grad * self.cos().conj()\n".replace("\n", "\r") * n,
    "tabs": lambda n: SIN + "\t" * n + "grad\n",
    "indented tabs": lambda n: f"{SIN}grad\n" + "\t\n" * n,
    "documents": lambda n: "---\n- {}\n" * n,
    "directives": lambda n: "%YAML 1.1\n" * n + "---\n- {}\n",
    "tags": lambda n: f"{SIN}grad\n" + "- !foo bar\n" * n,
    "broken items": lines(lambda i: f'- name: "zz{i}(Tensor self) -> Tensor\n  self: grad\n'),
    "unclosed quotes": lines(lambda i: f"{SIN}'grad\n"),
    "items with tabs": lines(lambda i: f"- name: zz{i}(Tensor self) -> Tensor\n\tself: grad\n"),
    "colons": lambda n: SIN + "grad: " * n + "grad\n",
    "merge keys": lambda n: "- &a {name: 'sin(Tensor self) -> Tensor', self: grad}\n" + "- <<: *a\n" * n,
    "complex keys": lambda n: f"{SIN}grad\n" + "  ? [a, b]\n  : grad\n" * n,
}

#: Comments that silence findings.
SUPPRESSIONS: dict[str, Shape] = {
    "suppressed lines": lines(
        lambda i: f"- name: zz{i}(Tensor self) -> Tensor\n  self: slef # derivlint: ignore[undefined-name] reason\n"
    ),
    "suppressed entries": lines(
        lambda i: f"- name: zz{i}(Tensor self) -> Tensor # derivlint: ignore[unknown-schema] reason\n  self: slef\n"
    ),
    "suppressions above": lambda n: "# derivlint: ignore[undefined-name] reason\n" * n + f"{SIN}slef\n",
    "suppressions of the file": lambda n: "# derivlint: ignore-file[undefined-name] reason\n" * n + f"{SIN}slef\n",
    "suppressions on a line": lambda n: f"{SIN}slef {'# derivlint: ignore[a] ' * n}\n",
    "names in a suppression": lambda n: f"{SIN}slef # derivlint: ignore[{'undefined-name, ' * n}x] y\n",
    "different names in a suppression": lines(lambda i: f"name-{i}, ", f"{SIN}slef # derivlint: ignore[", "x] y\n"),
    "suppressed keys": lines(lambda i: f"  k{i}: grad # derivlint: ignore[unknown-key] r\n", SIN + "grad\n"),
    "unused suppressions": lines(lambda i: f"{SIN}grad # derivlint: ignore[undefined-name] r\n"),
}

SHAPES: dict[str, Shape] = {**FORMULAS, **ENTRIES, **YAML, **SUPPRESSIONS}

#: The shapes that nest formulas, each into a tree with a level or two for each repetition.
DEEP = tuple(
    name
    for name in FORMULAS
    if name.startswith(("chained", "nested", "conditionals to", "a product", "a sum", "a difference", "a quotient"))
    or name in ("brackets", "subscripts", "comparisons", "logic", "commas", "unary operators", "negations", "casts")
    or name in ("assignments", "lambdas", "lambdas without a call", "lambdas with parameters", "addresses", "numbers")
)
