"""What `jaxport compilation recompiles` is asked, and the exit code that a ledger gives."""

from pathlib import Path

import pytest

from compare import cli
from compare.commands.recompiles import conclude
from compare.record.ledger_part import RecompilationLedger, SideLedger


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ([], "expected --tf, --jax or an example"),
        (["argmx"], "found 'argmx': did you mean argmax"),
        (["nothing_like_it"], "choose one of cumsum"),
        (["argmax", "--call", "x=f32[2]"], "found argmax and --call"),
        (["--tf", "absent.py:f", "--call", "x=f32[2]"], "a Python file at absent.py for --tf, found nothing"),
        (["--tf", "here.py", "--call", "x=f32[2]"], "expected --tf FILE.py:FUNCTION, found 'here.py'"),
        (["--tf", "here.py:f"], "1 to 1000 calls, found 0"),
        (["--tf", "here.py:f", "--static", "n", "--call", "n=1"], "expected --jax with --static"),
        (["--jax", "here.py:f", "--calls", "absent.txt"], "a file of calls at absent.txt"),
        (["--jax", "here.py:f", "--calls", "bytes.txt"], "expected text in bytes.txt"),
        (["--jax", "here.py:f", "--call", "x=f32[B]"], "sizes of B, found none: add --sizes"),
        (["--jax", "here.py:f", "--call", "x=1", "--jax-python", "absent"], "--jax-python"),
        (["argmax", "--expect-compilations", "-1"], "an integer of at least 0"),
    ],
)
def test_what_cannot_be_carried_out_is_one_line(
    asked: list[str], found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here.py").write_text("f = abs")
    Path("bytes.txt").write_bytes(b"\xff\xfe\x00")
    assert cli.main(["compilation", "recompiles", *asked]) == 2
    said = capsys.readouterr().err.splitlines()
    assert found in said[-1] and len(said) == 1


@pytest.mark.parametrize(
    ("side", "most", "code"),
    [
        (SideLedger(compilations=3, failed=0), None, 0),
        (SideLedger(compilations=3, failed=0), 3, 0),
        (SideLedger(compilations=3, failed=0), 2, 1),
        (SideLedger(compilations=0, failed=1), 3, 1),
        (SideLedger(compilations=0, failed=1), None, 0),
        (SideLedger(error="ImportError"), None, 1),
    ],
)
def test_a_ledger_is_no_verdict_unless_a_limit_is_given(side: SideLedger, most: int | None, code: int) -> None:
    other = SideLedger(compilations=0, failed=0)
    conclusion = conclude(RecompilationLedger(sides={"tf": other, "jax": side}), most)
    assert (conclusion.exit_code if conclusion else 0) == code
