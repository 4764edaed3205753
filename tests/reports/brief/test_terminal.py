"""The one screen: its size at several widths, and what is on it."""

from __future__ import annotations

from msgspec.structs import replace

from tests.reports.examples import HOSTILE, LONG
from torch_tb_profiler.reports.brief.bar import bar_text, legend_texts
from torch_tb_profiler.reports.brief.content import Brief, TopTable
from torch_tb_profiler.reports.brief.terminal import LINES, dumps, shortened_end
from torch_tb_profiler.reports.step_bar import StepBar, StepPart
from torch_tb_profiler.reports.style import COLOURED
from torch_tb_profiler.reports.text import display_width

SENTENCE = "The GPU waits for the host, which launches one small kernel after the other. "
BAR = StepBar(
    "Average step: 100 ms",
    tuple(
        StepPart(name, us, us / 1e3, f"{us} µs")
        for name, us in (("Kernel", 90_000.0), ("Memset", 1.0), ("DataLoader", 9_999.0))
    ),
)
FULL = Brief(
    heading=f"{LONG} · {HOSTILE}",
    answer=SENTENCE * 8,
    bar=BAR,
    findings=((LONG, SENTENCE * 9), (HOSTILE, HOSTILE), ("内核" * 80, SENTENCE)),
    more_findings=4,
    tops=(
        TopTable("Top operators", ("Name", "Time [ms]", "Share [%]"), ((LONG, "1.0", "50"),) * 5),
        TopTable("Top kernels", ("Name", "Time [ms]", "Share [%]"), ((HOSTILE, "1.0", "5"),) * 5),
    ),
    warnings=(SENTENCE * 3, "another"),
    missing=12,
)


def test_the_fullest_screen_has_at_most_40_lines_of_100_cells() -> None:
    for briefs in ([FULL], [FULL] * 2, [FULL] * 20):
        lines = dumps(briefs, 0, 100).splitlines()
        assert len(lines) <= LINES < 40
        assert max(map(display_width, lines)) <= 100
        assert "\x1b" not in "".join(lines)


def test_narrow_terminals_and_colours_keep_the_width() -> None:
    for width in (40, 60, 80, 200):
        assert max(map(display_width, dumps([FULL, FULL], 1, width).splitlines())) <= width
    coloured = dumps([FULL], 0, 60, COLOURED)
    assert coloured.replace("\x1b[1;33m", "").replace("\x1b[1m", "").replace("\x1b[2m", "").replace(
        "\x1b[0m", ""
    ) == dumps([FULL], 0, 60)


def test_the_order_is_verdict_step_findings_top_five_rest() -> None:
    text = dumps([replace(FULL, answer="Verdict.")], 0, 100)
    parts = ["Verdict.", "Average step: 100 ms", "1. void", "2. <img", "Top operators"]
    positions = [text.index(part) for part in [*parts, "Top kernels", "4 more findings"]]
    assert positions == sorted(positions)
    assert "12 figures need data this recording lacks" in text
    assert text.rstrip().endswith("--all")


def test_figures_that_are_all_known_are_not_mentioned() -> None:
    quiet = replace(FULL, missing=0, more_findings=0, warnings=(), findings=(), tops=())
    assert dumps([quiet], 0, 100).splitlines()[-1] == "all tables: --all"


def test_of_several_recordings_the_worst_comes_first_and_whole() -> None:
    briefs = [replace(FULL, heading=f"run {n}", answer=f"Answer {n}.") for n in range(3)]
    lines = dumps(briefs, 1, 100).splitlines()
    assert lines[:4] == [
        "3 recordings", "- run 1: Answer 1.", "- run 0: Answer 0.", "- run 2: Answer 2."
    ]  # fmt: skip
    assert lines[5:7] == ["run 1", "Answer 1."]


def test_the_bar_is_to_scale_and_every_category_has_a_sign() -> None:
    bar = bar_text(BAR, 50)
    assert (len(bar), bar.count("█"), bar.count("▞"), bar.count("▒")) == (50, 44, 1, 5)
    assert legend_texts(BAR) == ["█ Kernel 90.0 %", "▞ Memset 0.0 %", "▒ DataLoader 10.0 %"]


def test_a_bar_of_unknown_categories_has_different_signs() -> None:
    parts = tuple(StepPart(name, 1.0, 50.0, "") for name in ("Cube", "Vector"))
    assert bar_text(StepBar("", parts), 4) == "%%@@"


def test_a_text_is_cut_between_words() -> None:
    assert shortened_end("one two three four", 12) == "one two…"
    assert shortened_end("one two", 7) == "one two"
    assert shortened_end("x" * 20, 5) == "xxxx…"


def test_what_is_wrong_is_cut_before_the_remedy() -> None:
    what = "The GPU is idle because the host has not launched the next kernel yet; " * 3
    remedy = 'Use fewer launches: torch.compile (mode="reduce-overhead") or CUDA Graphs. Measure.'
    crowded = replace(FULL, findings=(("Launch-bound", f"{what.strip()}. {remedy}"),) * 3)
    for briefs in ([crowded], [crowded] * 20):
        text = " ".join(dumps(briefs, 0, 100).split())
        assert text.count(remedy) == 3
    assert "… Use fewer" in text


def test_free_lines_go_to_the_texts_of_findings() -> None:
    alone = replace(FULL, findings=(("A", SENTENCE * 4),), tops=FULL.tops[:1])
    assert "".join(dumps([alone], 0, 100).split()).count("".join(SENTENCE.split())) >= 4
