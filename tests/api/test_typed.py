"""What a type checker says of a user's script, at its strictest: the public names have types, and they are held."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

RIGHT = """
from pathlib import Path

import jaxport
from jaxport import ArraySpec, CheckReport, Deviation, Model, Training, Workload
from jaxport.testing import assert_ports_match


def double(x: object) -> object:
    return x


def port_of(report: CheckReport) -> str:
    if report.passed:
        return report.verdict
    first = report.failures[0]
    return f"{report.gates['semantics'].verdict} {first.gate} {first.place} {first.message}"


report = jaxport.check(
    double,
    double,
    {"x": "f32[B,128]", "n": ArraySpec((3,), "int32", 0, 10)},
    dimensions={"B": "1..64"},
    deviations=[Deviation("rounding", 1e-3, "known")],
)
print(port_of(report), report.record["schema"])
report.assert_passed()
print(port_of(jaxport.check(Path("port.py"))))
assert_ports_match(double, double, {"x": "f32[3]"}, name="double")

located = jaxport.locate("my_tf.py:f", "my_jax.py:f", {"x": "f32[3]"}, passes=["forward"])
for departure in located.departures:
    print(departure.jax_line, departure.index, (departure.jax_value or 0.0) + 1.0)

carried = jaxport.carry_weights(object(), object(), map={"dense": "linear"})
print([path for paths in carried.carried.values() for path in paths])
if report.weights is not None:
    print([different.error + 1.0 for different in report.weights.different])

diagnosis = jaxport.doctor("model.keras")
print([finding.what.upper() for finding in diagnosis.blockers], diagnosis.places)
written = jaxport.write_port("model.keras", "folder", batch=8)
print(written.file.name, written.report and written.report.passed)

timed = jaxport.bench("my_tf.py:f", "my_jax.py:f", {"x": "f32[B]"}, dimensions={"B": "32"}, modes=["tf/jit"], pairs=5)
print([seconds * 1e6 for seconds in timed.times.values()], timed.fastest.upper(), timed.headline, timed.parity.failures)
if timed.ratio is not None and timed.ratio.interval is not None:
    low, high = timed.ratio.interval
    print(low + high, (timed.ratio.ratio or 1.0) + 1.0, timed.ratios["jax/jit vs tf/jit"].withheld, *timed.reasons)
print(jaxport.bench(Path("port.py"), size="small", threads="all").passed)

programs = jaxport.compare_programs(double, double, {"x": "f32[3]"}, pass_="forward", level="unfused")
for difference in programs.differences:
    print(difference.name, difference.places + 1, *difference.sources)
print(programs.levels["algebraic"].tf_only + 1, programs.equal and programs.message)
jaxport.compare_programs("my_tf.mlirbc", "my_jax.mlirbc").assert_equal()

WORKLOAD = Workload(
    name="double",
    tf="my_tf.py:f",
    jax="my_jax.py:f",
    inputs={"x": ArraySpec((3,))},
    training=Training(synthetic=lambda dimensions: {}),
)
try:
    jaxport.check("nowhere.py")
except jaxport.RequestError as error:
    print(str(error))
print(Model)
"""

WRONG = {
    "jaxport.check(double)": "cannot be assigned to parameter",
    'jaxport.check("port.py", dimensions={"B": "3"})': "No overloads",
    'jaxport.check("port.py").passd': "passd",
    'jaxport.locate("port.py").departures[0].tf_value + 1': "None",
    'jaxport.carry_weights(1, 2, map=["dense"])': "list[str]",
    'jaxport.write_port("model.keras")': "folder",
    'jaxport.bench("port.py", inputs={"x": "f32[3]"})': "No overloads",
    'jaxport.bench("port.py").ratio.ratio': "None",
    'jaxport.bench("port.py").times["jax/jit"].seconds': "seconds",
    "jaxport.compare_programs(double, double)": "cannot be assigned to parameter",
    'jaxport.compare_programs("port.py", pass_=1)': '"pass_"',
    'jaxport.compare_programs("port.py").differences[0].places.upper()': "upper",
}
"""Line -> what is said of it."""


@pytest.mark.process
def test_a_script_is_clean_at_the_strictest_and_mistakes_are_found(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text("\n".join(["import jaxport", "double = abs", *WRONG]))
    # An editable installation is found by a hook of the interpreter, which pyright does not run.
    config = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    errors = json.loads(done.stdout)["generalDiagnostics"]
    assert [error["message"] for error in errors if error["file"].endswith("right.py")] == []
    for at, (line, says) in enumerate(WRONG.items(), 2):
        assert any(says in error["message"] for error in errors if error["range"]["start"]["line"] == at), line
