"""The page as text: texts are never markup, data cannot end its element, nothing comes from elsewhere."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar._errors import StoreError
from lodestar.report.html import Cell, Chart, Details, KeyFigures, Line, Notes, Section, Table, Text, page, write_page

EVIL = '</script><script>alert(1)</script><!--"&<b onclick=x>\u2028'


class Parsed(HTMLParser):
    """Tags, texts outside of scripts, and what stands in scripts."""

    def __init__(self, html: str):
        super().__init__()
        self.tags, self.texts, self.scripts, self._inside, self.attributes = [], [], [], False, []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self._inside = tag == "script"

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        (self.scripts if self._inside else self.texts).append(data)


def full(text: str) -> str:
    """A page with a text everywhere a text can stand."""
    chart = Chart(text, [Line(text, [1, 2], [1, 2], group=text)], caption=text)
    blocks = [
        Text(text),
        Notes([(text, text, text)]),
        KeyFigures([(text, text)]),
        Table((text, f">{text}"), [[text, Cell(text)]], text),
        Details(text, [chart]),
        chart,
    ]
    return page(text, [Section(text, blocks)], lead=text)


def test_markup_is_shown_as_text():
    plain, evil = Parsed(full("plain")), Parsed(full(EVIL))
    assert evil.tags == plain.tags
    assert [name for name, _ in evil.attributes] == [name for name, _ in plain.attributes]
    assert sum("<script>alert(1)</script>" in text for text in evil.texts) >= 10


@settings(max_examples=30, deadline=None)
@given(st.text(min_size=1, max_size=30))
def test_no_text_changes_the_page(text):
    plain, odd = Parsed(full("plain")), Parsed(full(text))
    assert odd.tags == plain.tags
    full(text).encode()


def test_data_comes_back_as_it_went_in():
    found = Parsed(full(EVIL))
    data = [json.loads(text) for text in found.scripts if text.startswith("{")]
    assert [one["series"][0]["name"] for one in data] == [EVIL, EVIL]


def test_nothing_comes_from_elsewhere():
    html = full("plain")
    links = [value for name, value in Parsed(html).attributes if name in ("src", "href", "action", "data")]
    assert all(link.startswith("#part-") for link in links)
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org)", html)


def test_only_the_renderer_may_run():
    html = full("plain")
    (script,) = [text for text in Parsed(html).scripts if "use strict" in text]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert f"script-src 'sha256-{digest}'" in policy[1]


def test_a_long_table_opens_at_a_click():
    html = page("t", [Section("s", [Table(("a",), [[str(i)] for i in range(9)], most=4)])])
    assert html.count("<tr hidden>") == 5
    assert "Show all 9 rows" in html


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="2 cells, got 1"):
        Table(("a", "b"), [["x"]])


def test_a_page_without_sections_is_refused():
    with pytest.raises(ValueError, match="at least one section"):
        page("t", [])


def test_it_is_written_whole_into_a_folder_that_is_made(tmp_path):
    path = write_page(tmp_path / "new" / "p.html", "t", [Section("s", [Text("x")])])
    assert path.read_text("utf-8").endswith("</html>")
    assert [file.name for file in path.parent.iterdir()] == ["p.html"]


def test_a_folder_that_cannot_be_is_an_error_with_a_cure(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="Fix"):
        write_page(tmp_path / "file" / "p.html", "t", [Section("s", [Text("x")])])
