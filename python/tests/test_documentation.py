"""The code in docs/python.md and in the README runs as it stands."""

from __future__ import annotations

import pathlib
import re
from typing import Any, Dict

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["docs/python.md", "python/README.md"])
def test_the_code_of_a_page_runs_from_top_to_bottom(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / page).read_text()
    pieces = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert pieces
    names: Dict[str, Any] = {}
    for piece in pieces:
        exec(compile(piece, page, "exec"), names)
    assert "global-default" in capsys.readouterr().out


def test_files_that_a_page_names_are_there() -> None:
    page = ROOT / "docs/python.md"
    links = re.findall(r"\]\(([^)#]+)", page.read_text())
    assert len(links) > 3
    assert [link for link in links if not (page.parent / link).exists()] == []
