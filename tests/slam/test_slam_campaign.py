"""Campaigns, what they leave, and the reports of it."""

import contextlib
import csv
import json
import re
import signal
import socket
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from waiting import LIMIT_S

pytest.importorskip("cv2")
pytest.importorskip("evo")

from slam_truth import plan, write_adapter, write_hall
from xtdrone_core import command
from xtdrone_core.errors import MISSED
from xtdrone_slam import SlamError
from xtdrone_slam.benchmark import campaign, plan as plans
from xtdrone_slam.evaluation import report, results, tables


@pytest.fixture(scope="module")
def fake(tmp_path_factory):
    """Folder of the adapter."""
    return write_adapter(tmp_path_factory.mktemp("systems") / "fake")


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """A recording long enough for half metres of path."""
    return write_hall(tmp_path_factory.mktemp("long") / "hall")


def test_grid_of_a_campaign(fake):
    one = plans.parse(
        {
            "systems": [
                "klt",
                {"name": "klt", "parameters": {"features": [100, 200], "keep": 0.4}},
            ],
            "worlds": ["indoor", "outdoor"],
            "seeds": [1, 2],
            "light": [1.0, 0.3],
            "loss": [0, 0.1],
            "runs": 3,
        }
    )
    assert [system.label for system in one.systems] == [
        "klt",
        "klt_features100_keep0.4",
        "klt_features200_keep0.4",
    ]
    names = [conditions.name for conditions in one.conditions]
    assert len(names) == len(set(names)) == 16
    assert names[0] == "indoor" and "outdoor_seed2_light0.3_loss0.1" in names
    jobs = one.jobs()
    assert len(jobs) == 3 * 16 * 3
    assert {job.number for job in jobs[: 16 * 3]} == {1}


def test_flights_are_named_one_by_one():
    flights = [{"world": "hall", "trajectory": "tour"}, {"world": "outdoor", "seed": 3}]
    one = plans.parse({"systems": ["voxel_lio"], "vehicle": "iris_3d_lidar", "flights": flights})
    names = [conditions.name for conditions in one.conditions]
    assert names == ["hall_tour_iris_3d_lidar", "outdoor_seed3_iris_3d_lidar"]
    assert one.conditions[1].options.seed == 3


@pytest.mark.parametrize(
    "data, says",
    [
        ({"systems": ["klt"], "flights": [{"wrld": "hall"}]}, "did you mean 'world'"),
        ({"systems": ["klt"], "flights": ["hall"]}, "flight"),
        ({"systems": ["kl"]}, "klt"),
        ({}, "systems"),
        ({"systems": ["klt"], "world": "x"}, "worlds"),
        ({"systems": ["klt"], "runs": 0}, "runs"),
        ({"systems": ["klt"], "texture": [1.5]}, "texture"),
        ({"systems": [{"nam": "klt"}]}, "cannot read the system"),
        ({"systems": [{"name": "klt", "parameters": {"feature": 1}}]}, "features"),
        ({"systems": ["klt"], "align": "se4"}, "se3"),
        ({"systems": ["klt"], "loss": 2}, "loss"),
        ({"systems": ["klt"], "seeds": ["a"]}, "wrong type|seed"),
    ],
)
def test_campaign_that_makes_no_sense(data, says):
    with pytest.raises(SlamError, match=says):
        plans.parse(data)


@pytest.mark.long
def test_interrupted_campaign_resumes_and_failures_do_not_stop_it(fake, long, tmp_path):
    one = plan(
        fake,
        long,
        systems=[str(fake), {"name": str(fake), "parameters": {"end": 3}}],
        datasets=[str(long), "no/such/folder"],
    )
    with pytest.raises(KeyboardInterrupt):

        def stop(pairs, total, text):
            stop.left -= pairs
            if stop.left < 0:
                raise KeyboardInterrupt

        stop.left = 24  # within the second run
        campaign.execute(one, tmp_path, serial=True, progress=stop)
    done = {path: path.stat().st_mtime_ns for path in tmp_path.glob("**/outcome.json")}
    first = tmp_path / "hall" / "fake" / "run_1" / "outcome.json"
    assert first in done and len(done) < 4
    totals = set()
    failures = campaign.execute(
        one, tmp_path, serial=True, progress=lambda pairs, total, text: totals.add(total)
    )
    assert len(failures) == 1 and "no/such" in failures[0]
    assert totals == {(4 - len(done)) * 16}  # what is finished is not done again
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in done.items())
    (flight,) = results.load(tmp_path)
    good, bad = flight.systems
    assert [run.verdict.word for run in good.runs] == ["good", "good"]
    assert (
        all(run.verdict.word == "failed" and "status 5" in run.verdict.reason for run in bad.runs)
        and not bad.counted
    )
    assert campaign.execute(one, tmp_path, serial=True)[0] == failures[0]
    # A parameter that the adapter has changed since makes the run another one.
    outcome = json.loads(first.read_text())
    first.write_text(json.dumps({**outcome, "parameters": {"error": 9}}))
    campaign.execute(one, tmp_path, serial=True)
    assert json.loads(first.read_text())["parameters"] == outcome["parameters"]


class Page(HTMLParser):
    """What a page asks for, and what it says."""

    def __init__(self):
        super().__init__()
        self.sources, self.tables, self.text = [], 0, ""

    def handle_starttag(self, tag, attributes):
        self.tables += tag == "table"
        self.sources += [value for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def benchmark(fake, long, tmp_path_factory):
    """Folder of a small benchmark."""
    folder = tmp_path_factory.mktemp("benchmark")
    assert campaign.execute(plan(fake, long), folder, serial=True) == []
    return folder


@pytest.mark.long
def test_ray_does_the_same(benchmark, fake, long, tmp_path):
    pytest.importorskip("ray")
    counted = []
    assert (
        campaign.execute(
            plan(fake, long),
            tmp_path,
            cores=1,
            progress=lambda pairs, total, text: counted.append((pairs, total)),
        )
        == []
    )
    assert sum(pairs for pairs, _ in counted) == 64
    done = sorted(path.relative_to(tmp_path) for path in tmp_path.glob("**/estimate.tum"))
    assert len(done) == 4
    assert all((tmp_path / path).read_bytes() == (benchmark / path).read_bytes() for path in done)


def test_no_cluster_at_an_address_is_said_at_once(fake, long, tmp_path):
    pytest.importorskip("ray")
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))  # nobody listens there
        address = f"127.0.0.1:{sock.getsockname()[1]}"
        with pytest.raises(SlamError, match=f"no Ray at '{address}'.*refused.*RAY_AUTH_TOKEN"):
            campaign.execute(plan(fake, long), tmp_path, address=address)


@pytest.mark.long
def test_report_of_a_campaign(benchmark, tmp_path):
    flights = results.load(benchmark)
    text = report.save(tmp_path, "A title & more", flights, "xtdrone slam ...")
    (flight,) = flights
    exact, wrong = flight.systems
    assert len(exact.good) == 2 and exact.identical and not wrong.good
    assert exact.statistics("ape_translation", "rmse").max() < 1e-6
    assert wrong.statistics("ape_translation", "rmse") == pytest.approx(0.1, rel=0.05)
    assert "deterministic: 2 good runs with identical estimates" in text
    for words in (
        "RPE rotation [deg]",
        "CPU, mean [% of a core]",
        "numpy",
        "cores",
        "error = 0.1",
        "dataset: hall",
    ):
        assert words in text
    page = Page()
    page.feed((tmp_path / "report.html").read_text())
    assert page.tables == 5 and "A title & more" in page.text and "numpy" in page.text
    assert len(page.sources) == 3  # figures 6 and 7, and usage
    assert all(source.startswith("data:image/png;base64,") for source in page.sources)
    for name in ("trajectories", "rpe", "usage"):
        assert (tmp_path / "plots" / f"hall_{name}.png").read_bytes()[:4] == b"\x89PNG"
        assert (tmp_path / "plots" / f"hall_{name}.pdf").read_bytes()[:5] == b"%PDF-"
    rows = list(csv.DictReader(open(tmp_path / "tables" / "hall_accuracy.csv")))
    assert rows[3][""] == "APE translation [m]"
    assert (
        float(rows[3]["fake_error0.1 (poor)"]) == wrong.statistics("ape_translation", "rmse").mean()
    )
    latex = (tmp_path / "tables" / "hall_accuracy.tex").read_text()
    assert latex.count(r"\\") == 7 and r"fake\_error0.1" in latex and "±" not in latex


@pytest.mark.long
def test_compare_puts_benchmarks_side_by_side(benchmark, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    assert command.main(["slam", "compare", str(benchmark), str(benchmark)]) == MISSED
    said = capsys.readouterr().out
    assert f"fake_error0.1 ({benchmark.name}) (poor)" in said and "run 1: poor: APE 0." in said
    report = (tmp_path / "slam_compare" / "report.md").read_text()
    assert len(re.findall(r"^## hall", report, re.M)) == 1
    with pytest.raises(SlamError, match="no finished run"):
        results.load(tmp_path / "empty")


def test_spread_and_escapes():
    assert str(tables.MeanStd(1.0, 0.5, 2)) == "1.00 ± 0.50"
    assert str(tables.MeanStd(1.0, None, 2)) == "1.00" and str(tables.MeanStd(np.nan, 1.0, 1)) == ""
    table = tables.Table("t", "50 % & <more>", ("", "a_b"), (("x|y", tables.MeanStd(1, 2, 0)),))
    assert r"x\|y" in table.markdown() and "&lt;more&gt;" in table.html()
    assert r"50 \% \& <more>" in table.latex() and r"1 $\pm$ 2" in table.latex()
    assert table.csv() == ",a_b,a_b std\nx|y,1.0,2.0\n"


@pytest.mark.slow
def test_interrupt_leaves_no_process(fake, long, tmp_path):
    script = (
        "import sys; from xtdrone_core import command; sys.exit(command.main(['slam', 'run', "
        f"'--system', {str(fake)!r}, '--dataset', {str(long)!r}, '--speed', '0.05']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    import psutil

    def is_system(child):
        with contextlib.suppress(psutil.Error):  # it may end meanwhile
            return "system.py" in " ".join(child.cmdline())

    children = []
    root = psutil.Process(process.pid)
    while not any(map(is_system, children)):
        assert process.poll() is None, process.stderr.read()
        children = root.children(recursive=True)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=LIMIT_S)[1]
    _gone, alive = psutil.wait_procs(children, timeout=LIMIT_S)
    assert not alive and process.returncode == 130, said  # no abort of a thread's, either


@pytest.mark.parametrize(
    "words, says",
    [
        (["--dataset", "nowhere"], "no dataset 'nowhere'"),
        (["--set", "error"], "NAME=VALUE"),
        (["--set", "errors=1"], "error"),
    ],
)
def test_what_cannot_run_is_said_in_one_line(
    fake, long, tmp_path, monkeypatch, capsys, words, says
):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    assert command.main(["slam", "run", "--system", str(fake), "--dataset", str(long), *words]) == 1
    said = capsys.readouterr().err
    assert says in said and len(said.splitlines()) == 1
    assert not list(tmp_path.iterdir())  # no empty run folder
