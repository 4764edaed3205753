"""Walks the questions through the tools of a real server, with the SDK's own client."""

from __future__ import annotations

import os
import re
import sys
from collections import defaultdict
from collections.abc import Sequence

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from msgspec import Struct

from bench.agent.model import Call, Question
from bench.agent.truths import FOLDERS, ROOT

MOST_BYTES = 20_000
MOST_CALLS = 5
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


class Walk(Struct, frozen=True):
    """What a question cost.

    Attributes:
        question: The question.
        sizes_bytes: Size of each answer, in UTF-8.
        is_right: Whether the last answer has the expected one.
        last: The last answer.
    """

    question: Question
    sizes_bytes: list[int]
    is_right: bool
    last: str

    @property
    def passed(self) -> bool:
        """Whether it is right within the limits of calls and sizes."""
        is_small = max(self.sizes_bytes) <= MOST_BYTES and len(self.sizes_bytes) <= MOST_CALLS
        return self.is_right and is_small


async def walk(questions: Sequence[Question], options: Sequence[str] = ()) -> list[Walk]:
    """Walk all questions, with one server per folder."""
    of_folders: defaultdict[str, list[Question]] = defaultdict(list)
    for question in questions:
        of_folders[question.folder].append(question)
    walks = []
    for folder, own in of_folders.items():
        words = ["-m", "torch_tb_profiler", "mcp", str(FOLDERS[folder]), *options]
        environment = {"PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT))}
        server = StdioServerParameters(command=sys.executable, args=words, env=environment)
        async with Client(stdio_client(server)) as client:
            walks += [await _walked(client, question) for question in own]
    order = {question.id: number for number, question in enumerate(questions)}
    return sorted(walks, key=lambda each: order[each.question.id])


async def _walked(client: Client, question: Question) -> Walk:
    answers = [await _answer(client, call) for call in question.walk]
    sizes = [len(answer.encode()) for answer in answers]
    return Walk(question, sizes, has_answer(question, answers[-1]), answers[-1])


async def _answer(client: Client, call: Call) -> str:
    result = await client.call_tool(call.tool, call.arguments)
    return "\n".join(getattr(part, "text", "") for part in result.content)


def has_answer(question: Question, text: str) -> bool:
    """Whether a line of the text that ``question.line`` matches has the answer: the words, or a
    number that agrees to ``question.digits`` digits."""
    lines = [each for each in text.splitlines() if re.search(question.line, each)]
    if isinstance(question.answer, str):
        return any(question.answer in line for line in lines)
    tolerance = 0.5 * 10.0 ** (1 - question.digits) * abs(question.answer)
    numbers = (float(each.replace(",", "")) for line in lines for each in _NUMBER.findall(line))
    return any(abs(number - question.answer) <= tolerance for number in numbers)
