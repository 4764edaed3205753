"""Gates that ``compare`` checks: their lines on stderr, and the exit code they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_tb_profiler.cli.exits import (
    BAD_USAGE,
    DONE,
    GATE_FAILED,
    print_error,
    print_message,
)
from torch_tb_profiler.views.compare.gate import GateError, GateResult, evaluate
from torch_tb_profiler.views.compare.repeated_gate import (
    Repeats,
    evaluate_repeated,
    repeated_text,
)
from torch_tb_profiler.views.schema import View


class GateChecks:
    """The gates of a command line, checked in order.

    Attributes:
        code: Exit code: the worst of them.
        lines: How each ended, in a line without the name of the program.
        repeated: Of several recordings how the average step differs over all; else None.
    """

    def __init__(self, expressions: Sequence[str], allowed: Sequence[str]) -> None:
        self.code = DONE
        self.lines: list[str] = []
        self.repeated: str | None = None
        self._expressions, self._allowed = expressions, allowed

    def check(self, view: View) -> None:
        """Check them on one comparison."""
        self._check(lambda expression: evaluate(view, expression, self._allowed))

    def check_repeated(self, repeats: Repeats) -> None:
        """Check them on the means of several recordings."""
        self.repeated = repeated_text(repeats)
        if self.repeated is not None:
            print_message(self.repeated)
        self._check(lambda expression: evaluate_repeated(repeats, expression, self._allowed))

    def _check(self, evaluated: Callable[[str], GateResult]) -> None:
        for expression in self._expressions:
            try:
                result = evaluated(expression)
            except GateError as error:
                self.code = max(self.code, BAD_USAGE)
                self.lines.append(f"{error}.")
                print_error(self.lines[-1])
                continue
            self.code = max(self.code, GATE_FAILED if result.failed else DONE)
            self.lines.append(result.text)
            print_message(result.text)
