"""Guides are public pages of those who make frameworks and devices, each once."""

from __future__ import annotations

from urllib.parse import urlsplit

from torch_tb_profiler.knowledge.guidance import guides

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
