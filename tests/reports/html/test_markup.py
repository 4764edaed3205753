"""Elements: what is text stays text."""

from __future__ import annotations

from tests.helpers.export_readers import Page
from tests.helpers.hostile_names import ALL_NAMES, utf8
from torch_tb_profiler.reports.html.markup import Markup, element, joined, number, text
from torch_tb_profiler.reports.text import visible

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\" onload='x' &amp; \x1b[2J"


def test_a_hostile_text_is_text_and_its_invisible_characters_are_seen() -> None:
    reader = Page(element("p", HOSTILE))
    assert [tag for tag, _ in reader.tags] == ["p"]
    shown = HOSTILE.replace("\u202e", "\\u202e").replace("\x1b", "\\x1b")
    assert "".join(reader.texts) == shown


def test_every_hostile_name_is_text_in_an_element_and_in_an_attribute() -> None:
    for name in map(utf8, ALL_NAMES):
        page = Page(element("p", element("b", name, title=name), name, data_name=name))
        shown = visible(name)
        assert page.tags == [("p", {"data-name": shown}), ("b", {"title": shown})], ascii(name[:80])
        assert "".join(page.texts) == shown * 2, ascii(name[:80])


def test_a_hostile_attribute_stays_one_attribute() -> None:
    ((tag, attributes),) = Page(element("td", "1", title=HOSTILE, class_="n")).tags
    assert (tag, set(attributes)) == ("td", {"title", "class"})
    assert "onload='x'" in (attributes["title"] or "")


def test_elements_within_elements_are_not_escaped_and_none_is_left_out() -> None:
    inner = element("b", "x < y")
    assert element("p", inner, None, "", " & more") == "<p><b>x &lt; y</b> &amp; more</p>"
    assert joined([inner, text("&")], ", ") == "<b>x &lt; y</b>, &amp;"
    assert isinstance(element("p"), Markup)


def test_empty_elements_shapes_and_coordinates() -> None:
    assert element("meta", charset="utf-8") == '<meta charset="utf-8">'
    assert element("rect", x=1.0, width=2.26) == '<rect x="1" width="2.3"/>'
    assert element("rect", element("title", "t"), x=0.04) == '<rect x="0"><title>t</title></rect>'
    assert (number(10.0), number(-0.01), number(1e7)) == ("10", "-0", "10000000")
