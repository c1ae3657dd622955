"""The types of expressions in place of a formula."""

from __future__ import annotations

from derivlint.analysis.soundness import with_formula
from derivlint.cpp.cpp_type import TENSOR, UNKNOWN, CppType
from derivlint.cpp.expressions.consumer import check_result
from derivlint.cpp.library import FoundCallee
from derivlint.cpp.problem import TypeProblemKind
from derivlint.formula import Call, Name, parse_formula
from derivlint.model import DerivativeFormula, Model
from derivlint.model.generated.evaluation import Evaluation, Mode, Origin
from derivlint.model.scope import variables, visible_names
from derivlint.operators.common_mistakes import notations

#: The maximum number of expressions to type for one formula; then the first alternatives count.
MAX_TYPED = 200
#: The number of problems that counts for a text that does not parse.
UNREADABLE = 1000


class FormulaTyping:
    """Types expressions in place of a formula."""

    def __init__(self, model: Model, evaluation: Evaluation) -> None:
        self._model = model
        self._evaluation = evaluation
        self._typed = 0
        self._known: dict[str, int] = {}

    def problems(self, text: str, *, whole: bool = False) -> int:
        """Count the problems of an expression, or of the ``whole`` formula."""
        if not whole and text in self._known:
            return self._known[text]
        self._typed += 1
        if self._typed > MAX_TYPED and not whole:
            return 0
        parsed = parse_formula(text)
        typed = self._model.typing.typed(self._evaluation, text) if not parsed.problems else None
        if typed is None:
            count = UNREADABLE
        else:
            undeclared = {word.text for word in variables(parsed)} - self._evaluation.variables.keys()
            problems = typed.typer.problems
            reported = {problem.name for problem in problems if problem.kind is TypeProblemKind.UNDECLARED_NAME}
            unknown = sum(self._is_builtin(node) for node in parsed.nodes if isinstance(node, Call))
            count = len(problems) + len(undeclared - reported) + unknown
            if whole and not count:
                check_result(typed.typer, typed.tree, typed.value, self._evaluation.consumer)
                count = len(typed.typer.problems)
                typed.typer.problems.clear()
        if not whole:
            self._known[text] = count
        return count

    def _is_builtin(self, call: Call) -> bool:
        """Whether a Python builtin is called that no header declares."""
        name = call.callee.simple if isinstance(call.callee, Name) else None
        if name is None or name not in notations().get(f"builtin/{len(call.args)}", {}):
            return False
        return not self._model.typing.library.helpers_elsewhere(name).exists

    def type_of(self, text: str) -> CppType:
        """The type of an expression."""
        if parse_formula(text).problems:
            return UNKNOWN
        typed = self._model.typing.typed(self._evaluation, text)
        return typed.value.type if typed is not None else UNKNOWN

    def callees(self, text: str, receiver: str | None, name: str) -> FoundCallee | None:
        """The overloads of a function, or of a method of a ``receiver``."""
        library = self._model.typing.library
        if receiver is not None:
            type = self.type_of(receiver)
            return library.methods(TENSOR if type is UNKNOWN else type, name)
        tree = parse_formula(text).tree
        if not isinstance(tree, Name):
            return None
        namespace = "::".join(part.identifier for part in tree.parts[:-1])
        overloads = library.functions(namespace or "at", name)
        return overloads if overloads.functions or namespace else library.helpers_elsewhere(name)


def typing_of(model: Model, formula: DerivativeFormula) -> FormulaTyping | None:
    """Make the typing for a formula; None if its entry does not resolve."""
    names = visible_names(formula)
    # a call with all variables as arguments, so that all are in scope
    probe = with_formula(model, formula.body, formula.key_text, f"f({', '.join(names)})") if names else None
    if probe is None:
        return None
    for entry in probe.entries:
        for evaluation in probe.evaluations(entry):
            is_written = evaluation.origin is Origin.YAML and evaluation.mode is not Mode.SAVE
            if is_written and evaluation.written.key_text == formula.key_text:
                return FormulaTyping(model, evaluation)
    return None
