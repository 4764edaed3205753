"""The call stack of every slice: where in the source an operator was called, a kernel launched.

A stack comes from the ``Call stack`` argument where the file has one, else from the python
frames around the slice (traces of torch 2 with ``with_stack``). A device slice has the stack
of the operator that launched it. Stacks are shared: slices with equal stacks have equal codes,
and a stack becomes text only when it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices, with_ancestors
from torch_tb_profiler.trace.categories import PYTHON_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Int32, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

SEPARATOR = ";"
"""Stands between the frames of a stack; the innermost frame comes first."""

_FRAME = re.compile(r"(?P<file>.+)\((?P<line>\d+)\): ?(?P<function>.*)", re.DOTALL)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class Frame(Struct, frozen=True):
    """One frame of a call stack.

    Attributes:
        text: The frame as the trace writes it.
        file: Source file as recorded (often relative to site-packages), None if it has none.
        line: Line counted from 1; 0 where the recorder did not know it; None without a file.
        function: Name of the function, or all of ``text`` when it has no file.
        jumpable: True when an editor can be sent to the place: a file of the user or an absolute
            path, and a line. False for built-ins and for relative paths inside torch.
    """

    text: str
    file: str | None
    line: int | None
    function: str
    jumpable: bool


def parse_frame(text: str) -> Frame:
    """Take ``file(line): function`` apart; other texts have no file."""
    match = _FRAME.fullmatch(text)
    if match is None:
        return Frame(text, None, None, text, False)
    file = match["file"]
    line = int(match["line"])
    is_relative_torch = file.replace("\\", "/").startswith("torch/")
    jumpable = line > 0 and not file.startswith("<") and not is_relative_torch
    return Frame(text, file, line, match["function"], jumpable)


def parse_stack(text: str | None) -> tuple[Frame, ...]:
    """The frames of a stack's text, innermost first; none for None."""
    if not text:
        return ()
    return tuple(parse_frame(frame) for frame in text.split(SEPARATOR))


class CallStacks(Struct, frozen=True, eq=False):
    """The call stacks of a trace.

    Attributes:
        code: Per slice, the code of its stack, -1 for none (int32).
        argument_texts: Texts of the stacks ``0 … len - 1``, which the file gave as text.
        chain_frame: Per further stack, its innermost frame as an index into ``frame_texts``.
        chain_parent: Per further stack, the (further) stack below that frame, -1 at the bottom.
        frame_texts: Texts of the python frames.
    """

    code: Int32
    argument_texts: list[str]
    chain_frame: Int64
    chain_parent: Int64
    frame_texts: list[str]

    @property
    def count(self) -> int:
        """How many different stacks there are: codes are below this."""
        return len(self.argument_texts) + len(self.chain_frame)

    def text(self, code: int | None) -> str | None:
        """The frames of stack ``code`` joined by ``;``, innermost first; None for -1 or None."""
        if code is None or code < 0:
            return None
        if code < len(self.argument_texts):
            return self.argument_texts[code]
        frames: list[str] = []
        chain = code - len(self.argument_texts)
        while chain >= 0:
            frames.append(self.frame_texts[int(self.chain_frame[chain])])
            chain = int(self.chain_parent[chain])
        return SEPARATOR.join(frames)

    def texts(self, codes: Iterable[int | None]) -> list[str | None]:
        """:meth:`text` of several codes; each stack is put together once."""
        known: dict[int | None, str | None] = {}
        result: list[str | None] = []
        for code in codes:
            if code not in known:
                known[code] = self.text(code)
            result.append(known[code])
        return result


def has_call_stacks(trace: Trace) -> bool:
    """Whether the recording holds Python frames, or operators with their stack as an argument."""
    if trace.operators["call_stack_code"].is_not_null().any():
        return True
    return bool(trace.slices["category"].is_in([int(each) for each in PYTHON_CATEGORIES]).any())


@per_trace
def call_stacks(trace: Trace) -> CallStacks:
    """The stacks of all host nodes, launches and device slices of ``trace``; made once."""
    code = np.full(trace.slices.height, -1, np.int32)
    slices, stack, argument_texts = _argument_stacks(trace)
    frame = indices(trace.slices["frame"])
    chain, chain_frame, chain_parent, frame_texts = _frame_chains(trace, frame)
    framed = np.flatnonzero(frame >= 0)
    code[framed] = len(argument_texts) + chain[frame[framed]]
    inside = np.flatnonzero(chain >= 0)
    code[inside] = len(argument_texts) + chain[inside]
    code[slices] = stack
    owner = indices(trace.device_work["owner"])
    launch = indices(trace.device_work["launch"])
    caller = np.where(owner >= 0, owner, launch)
    launched = np.flatnonzero(caller >= 0)
    code[trace.device_work["slice"].to_numpy()[launched]] = code[caller[launched]]
    return CallStacks(code, argument_texts, chain_frame, chain_parent, frame_texts)


def frames_of(trace: Trace, slice_id: int) -> tuple[Frame, ...]:
    """The frames of the stack of one slice, innermost first."""
    stacks = call_stacks(trace)
    return parse_stack(stacks.text(int(stacks.code[slice_id])))


def frames_around(trace: Trace, slice_id: int) -> tuple[Frame, ...]:
    """The Python frames around one host slice, innermost first, without making all stacks: those of
    the file's frames, else of the ``Call stack`` argument nearest around it."""
    slices = trace.slices
    number: int | None = slices["frame"][slice_id]
    frames: list[Frame] = []
    while number is not None:
        if slices["category"][number] in (Category.MODULE, Category.PYTHON_FUNCTION):
            frames.append(parse_frame(trace.text(slices["name_code"][number]) or ""))
        number = slices["parent"][number]
    number = None if frames else slice_id
    while number is not None:
        row = trace.operators["slice"].search_sorted(number)
        if row < trace.operators.height and trace.operators["slice"][row] == number:
            text = trace.text(trace.operators["call_stack_code"][row])
            if text:
                return parse_stack(text)
        number = slices["parent"][number]
    return tuple(frames)


def _argument_stacks(trace: Trace) -> tuple[Int64, Int64, list[str]]:
    """Slices with a ``Call stack`` argument, the code of each one's stack, texts by code."""
    codes = indices(trace.operators["call_stack_code"])
    rows = np.flatnonzero(codes >= 0)
    distinct, inverse = factorize(codes[rows])
    texts: dict[str, int] = {}
    recoded = np.empty(len(distinct), np.int64)
    for row, string in enumerate(distinct):
        text = str(trace.strings[string]).strip(SEPARATOR)
        recoded[row] = texts.setdefault(text, len(texts)) if text else -1
    slices = trace.operators["slice"].to_numpy()[rows]
    stack = recoded[inverse]
    has_stack = stack >= 0
    return slices[has_stack], stack[has_stack], list(texts)


def _frame_chains(trace: Trace, frame: Int64) -> tuple[Int64, Int64, Int64, list[str]]:
    """Give every chain of python frames that some slice stands in a number.

    Chains are numbered level by level from the bottom of the stack, so that equal frames over
    equal chains get equal numbers; this is exact, and each frame is looked at once.

    Returns:
        Chain per slice (-1 for none), innermost frame per chain, parent per chain, frame texts.
    """
    parent = indices(trace.slices["parent"])
    needed = with_ancestors(distinct_values(frame[frame >= 0]), parent)
    names, frame_texts = _frame_names(trace, needed)
    depth = trace.slices["depth"].fill_null(0).to_numpy()[needed]
    by_depth = np.argsort(depth, kind="stable")
    bounds = np.flatnonzero(np.diff(depth[by_depth], prepend=-1, append=-1))
    chain = np.full(trace.slices.height, -1, np.int64)
    chain_frames: list[Int64] = []
    chain_parents: list[Int64] = []
    chain_count = 0
    for first, last in pairwise(bounds.tolist()):
        level = by_depth[first:last]
        slices = needed[level]
        above = parent[slices]
        below = gather(chain, above)
        keys = (below + 1) * len(frame_texts) + names[level]
        distinct, inverse = factorize(keys)
        chain[slices] = chain_count + inverse
        chain_frames.append(distinct % len(frame_texts))
        chain_parents.append(distinct // len(frame_texts) - 1)
        chain_count += len(distinct)
    nothing = np.empty(0, np.int64)
    return (
        chain,
        np.concatenate(chain_frames) if chain_frames else nothing,
        np.concatenate(chain_parents) if chain_parents else nothing,
        frame_texts,
    )


def _frame_names(trace: Trace, slices: Int64) -> tuple[Int64, list[str]]:
    """Per python frame, the number of its text; texts by number.

    Addresses are cut out (``<built-in method add of Tensor object at 0x7f…>``): they differ from
    call to call and would keep equal stacks apart.
    """
    codes = trace.slices["name_code"].to_numpy()[slices]
    distinct, inverse = factorize(codes)
    texts: dict[str, int] = {}
    recoded = np.empty(len(distinct), np.int64)
    for row, string in enumerate(distinct):
        text = _ADDRESS.sub("", trace.text(int(string)) or "").replace(SEPARATOR, ",")
        recoded[row] = texts.setdefault(text, len(texts))
    return recoded[inverse], list(texts)
