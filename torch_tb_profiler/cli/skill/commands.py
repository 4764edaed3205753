"""All commands with their options as Markdown, from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

HEADING = """# Commands

Exit codes: 0 done, 1 a gate failed, 2 bad usage, 3 input could not be read. Errors are on stderr:
file, cause, next step.
"""
ELSEWHERE = frozenset({"dlprof", "completion", "mcp", "open", "serve"})
"""Commands for people, for clients of other protocols, or for users of another tool."""


def command_parsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Command → its parser."""
    actions = parser._actions
    subparsers = next(each for each in actions if isinstance(each, argparse._SubParsersAction))
    return dict(subparsers.choices)


def commands_markdown(parser: argparse.ArgumentParser) -> str:
    """The commands that agents use. An option that ``report`` has too is described there."""
    parsers = command_parsers(parser)
    of_report = set(_options(parsers["report"]))
    parts = [HEADING]
    for name, command in parsers.items():
        if name in ELSEWHERE:
            continue
        is_report = name == "report"
        usage = " ".join([name, *_positionals(command)])
        lines = [f"## `{usage}`", "", f"{command.description}", ""]
        shared = [] if is_report else [row for row in _options(command) if row in of_report]
        lines += [
            f"* `{option}` {text}"
            for option, text in _options(command)
            if (option, text) not in shared
        ]
        if shared:
            lines.append(f"* as in `report`: {', '.join(f'`{option}`' for option, _ in shared)}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _positionals(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if not action.option_strings:
            yield str(action.metavar or action.dest.upper())


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Each option with its value, and what it does."""
    for action in parser._actions:
        if action.option_strings and not isinstance(action, argparse._HelpAction):
            values = "|".join(map(str, action.choices)) if action.choices else action.metavar
            value = f" {values}" if action.nargs != 0 and values else ""
            yield f"{action.option_strings[-1]}{value}", (action.help or "").replace("%%", "%")
