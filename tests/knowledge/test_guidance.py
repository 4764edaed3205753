"""Guides are public pages of those who make frameworks and devices, each once."""

from __future__ import annotations

from urllib.parse import urlsplit

from torch_tb_profiler.knowledge.guidance import guides, guides_for
from torch_tb_profiler.knowledge.recorders import UNKNOWN, recorder_named, recorders

HOSTS = {"pytorch.org", "docs.nvidia.com", "rocm.docs.amd.com"}


def test_guides_lead_to_public_pages() -> None:
    for guide in guides():
        parts = urlsplit(guide.url)
        assert (parts.scheme, parts.netloc in HOSTS) == ("https", True), guide.url
        assert not parts.query
        assert guide.text.endswith(".")
        assert len(guide.title) < 50


def test_every_topic_has_a_guide_and_no_page_stands_twice() -> None:
    titles = " ".join(guide.title for guide in guides()).lower()
    for topic in ("mixed precision", "tuning", "data", "torch.compile", "distributed", "profiler"):
        assert topic in titles
    assert len({guide.url for guide in guides()}) == len({guide.title for guide in guides()})
    assert len(guides()) == len({guide.url for guide in guides()})


def test_pages_about_others_are_left_out() -> None:
    titles = {
        name: {guide.title for guide in guides_for(recorder_named(name))} for name in recorders()
    }
    assert "Recording with torch.profiler" in titles["torch.profiler"]
    assert "Recording with Nsight Systems" in titles["Nsight Systems"]
    assert {"torch.compile", "Mixed precision on NVIDIA GPUs"} <= titles["Nsight Systems"]
    assert not any("torch" in title for title in titles["paddle.profiler"])
    assert "torch.compile" in {guide.title for guide in guides_for(UNKNOWN)}
    for guide in guides():
        assert guide.recorder is None or guide.recorder in recorders()
