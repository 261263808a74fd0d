"""The guide's judge can fail: a statement, a file or a command that does otherwise than the page says is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from guide_page import Block, blocks, commands, run

PAGE = """# Title

```pycon
>>> x = {start}
>>> x + 1
2
```

Read, not run:

```python
1 / 0
```

```{{code-block}} python
:caption: said.py

print("{word}")
```

```console
$ python said.py
hello
$ echo one; \\
  echo two
one
...
```
"""


def page(folder: Path, start: str = "1", word: str = "hello") -> Path:
    path = folder / "page.md"
    path.write_text(PAGE.format(start=start, word=word))
    return path


def test_blocks_have_languages_captions_and_lines(tmp_path: Path) -> None:
    found = blocks(page(tmp_path).read_text())
    assert [(block.language, block.caption, block.is_executed) for block in found] == [
        ("pycon", "", True),
        ("python", "", False),
        ("python", "said.py", True),
        ("console", "", True),
    ]
    assert found[0] == Block("pycon", "", ">>> x = 1\n>>> x + 1\n2\n", 4)


def test_commands_are_taken_with_their_output() -> None:
    assert list(commands("$ a \\\n  b\nc\nd\n$ e\n")) == [("a b", "c\nd\n"), ("e", "")]


@pytest.mark.process
@pytest.mark.parametrize(
    ("change", "problems"),
    [({}, 0), ({"start": "2"}, 1), ({"start": "1 / 0"}, 1), ({"word": "bye"}, 1), ({"start": "3", "word": "bye"}, 2)],
)
def test_what_differs_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], problems: int
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(run(page(tmp_path, **change))) == problems
