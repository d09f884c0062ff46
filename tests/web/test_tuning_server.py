"""The server of the tuning page: uploads, refusals, progress, results, what it leaves behind."""

import contextlib
import http.client
import json
import signal
import subprocess
import sys
from urllib.parse import quote, urlsplit

import pytest

import tuning_server
from waiting import LIMIT_S, until
from web_client import Client
from xtdrone_core import command
from xtdrone_web.errors import WebError
from xtdrone_web.tuning import logs, worker

SEARCH = {
    "axes": ["yaw", "roll"],
    "method": "de",
    "model": "extended",
    "begin": 0.5,
    "end": None,
    "held_out": 0.3,
    "generations": 30,
    "seed": 4,
}
ENDLESS = {**SEARCH, "generations": 100_000}


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return tuning_server.write_log(tmp_path_factory.mktemp("logs") / "flight.csv")


@pytest.fixture(scope="module")
def tuning(tmp_path_factory, log):
    """The server with a log open."""
    with tuning_server.serving(tmp_path_factory.mktemp("runs"), log) as running:
        yield running


@pytest.fixture
def connect(tuning):
    clients = []

    def open_one(token=tuning.token):
        clients.append(Client(tuning.page, token))
        return clients[-1]

    yield open_one
    for client in clients:
        client.close()


def request(tuning, method, path, body=None, **headers):
    connection = http.client.HTTPConnection(urlsplit(tuning.page).netloc)
    connection.request(
        method, path, body, {key.replace("_", "-"): value for key, value in headers.items()}
    )
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def upload(tuning, name, body, **headers):
    headers = {"Authorization": f"Bearer {tuning.token}", **headers}
    answer, text = request(tuning, "POST", f"/tune/upload?name={quote(name)}", body, **headers)
    return answer.status, json.loads(text)


def told(client, op, **values):
    """Waits for a message with an op and values."""
    return client.until(
        lambda m: (
            isinstance(m, dict)
            and m["op"] == op
            and all(m.get(key) == value for key, value in values.items())
        )
    )


def test_the_page_has_the_policy_and_no_inline_script(tuning):
    answer, body = request(tuning, "GET", "/tune")
    policy = answer.headers["Content-Security-Policy"]
    assert answer.status == 200 and "default-src 'none'" in policy and "unsafe" not in policy
    assert "style=" not in body and "<style" not in body and "onclick" not in body
    assert body.count("<script") == body.count('<script type="module" src=') == 1
    assert request(tuning, "GET", "/")[0].headers["Location"] == "/tune"


def test_other_hosts_origins_and_pages_without_the_token_are_refused(tuning, connect):
    answer, body = request(tuning, "GET", "/tune", Host="evil.example:80")
    assert answer.status == 403 and body.count("\n") == 1
    assert (
        request(tuning, "POST", "/tune/upload?name=a.csv", b"t", Origin="http://evil.example")[
            0
        ].status
        == 403
    )
    for token in (None, "wrong"):
        client = connect(token)
        refused = client.receive()
        assert refused["op"] == "refused" and "token" in refused["error"]
        assert client.receive() == "closed"
    status, answer = upload(tuning, "a.csv", b"t", Authorization="Bearer wrong")
    assert status == 403 and "token" in answer["error"]
    assert not list(tuning.runs.glob("tune_a*"))


@pytest.mark.parametrize(
    "name, body, says",
    [
        ("flight.exe", b"MZ", "no log: give a file that ends with .csv, .txt, .ulg"),
        ("../../.ulg", b"ULog", "no log"),
        ("flight.csv", b"", "is empty"),
        ("flight.csv", b"\0\1\2", "neither a ULog"),
        ("flight.csv", b"ULog\x01\x12\x35", "neither"),
        ("flight.ulg", b"t,stick_up\n0,0\n", "neither a ULog"),
        ("flight.csv", b"a,b\n1,2\n", "none of the columns t"),
        (
            "flight.ulg",
            b"ULog\x01\x12\x35\x01" + bytes(40),
            "'flight.ulg' has no manual_control_setpoint",
        ),
    ],
)
def test_what_is_no_log_is_refused_in_one_line_and_not_kept(tuning, name, body, says):
    status, answer = upload(tuning, name, body)
    assert status == 200 and says in answer["error"] and "\n" not in answer["error"]
    assert "Traceback" not in answer["error"]
    assert not list(tuning.runs.glob("tune_flight*/flight*.[cu]*"))


def test_an_upload_that_is_too_large_is_refused_at_its_head(tuning):
    status, answer = upload(tuning, "big.csv", b"", Content_Length=str(logs.MAX_UPLOAD + 1))
    assert status == 200 and "more than 256 MB" in answer["error"]


def test_a_log_is_uploaded_opened_and_listed(tuning, connect, log):
    client = connect()
    told(client, "log", name="flight.csv")
    status, answer = upload(tuning, "my flight?.csv", log.read_bytes())
    assert status == 200 and answer["name"] == "tune_my_flight_/my_flight_.csv"
    opened = told(client, "log", name=answer["name"])
    assert opened["seconds"] == pytest.approx(3.999) and opened["axes"]["yaw"]["moves"]
    assert not opened["axes"]["height"]["moves"]
    listed = [one["name"] for one in client.ask("logs")["logs"]]
    assert listed == ["flight.csv", answer["name"]]
    assert upload(tuning, "my flight?.csv", log.read_bytes())[1]["name"].endswith("_-2.csv")
    for name in ("../../etc/passwd", "nothing", None):
        assert "there is no log" in client.ask("open", log=name)["error"]
    assert client.ask("open", log="flight.csv")["ok"]


@pytest.mark.parametrize(
    "values, says",
    [
        ({"axes": []}, "at least one"),
        ({"axes": "yaw"}, "list of names"),
        ({"seed": [1]}, "seed is '[1]'"),
        ({"generations": True}, "generations is 'True'"),
    ],
)
def test_an_order_that_is_none_is_refused_at_once(connect, values, says):
    answer = connect().ask("start", **{**SEARCH, **values})
    assert answer["ok"] is False and says in answer["error"]


def test_what_the_command_refuses_the_page_shows(connect):
    client = connect()
    for values, says in (
        ({"method": "dee"}, "did you mean 'de'?"),
        ({"begin": 3.5}, "less than 1 s"),
        ({"axes": ["--out=/tmp/x"]}, "axis '--out=/tmp/x'"),
    ):
        assert client.ask("start", **{**SEARCH, **values})["ok"]
        error = told(client, "search", running=False)["error"]
        assert says in error and "\n" not in error
    assert "not known" in client.ask("nonsense")["error"]
    assert "no gains yet" in client.ask("fly")["error"]


@pytest.mark.slow
def test_a_search_tells_its_progress_and_finds_what_the_command_finds(
    tuning, connect, log, tmp_path
):
    client = connect()
    client.ask("open", log="flight.csv")
    assert client.ask("start", **SEARCH)["ok"]
    assert "under way" in client.ask("start", **SEARCH)["error"]
    done = told(client, "done")
    told(client, "search", running=False)
    progress = [m for m in client.said if m["op"] == "progress"]
    for axis in ("yaw", "roll"):
        steps = [m["generation"] for m in progress if m["axis"] == axis]
        assert steps == sorted(steps) and steps[-1] == 30
        costs = [m["J"] for m in progress if m["axis"] == axis]
        assert costs == sorted(costs, reverse=True)
        assert costs[-1] == pytest.approx(done["result"]["axes"][axis]["J"])
    command.main(
        [
            "tune",
            str(log),
            "--axis",
            "yaw,roll",
            "--method",
            "de",
            "--from",
            "0.5",
            "--generations",
            "30",
            "--seed",
            "4",
            "--out",
            str(tmp_path),
        ]
    )
    wanted = json.loads((tmp_path / "result.json").read_text())
    assert done["result"]["axes"] == wanted["axes"]
    assert done["yaml"] == (tmp_path / "gains.yaml").read_text()
    assert done["result"] == json.loads((tuning.runs / "tune_flight" / "result.json").read_text())
    parts = done["curves"]["yaw"]
    assert [part["part"] for part in parts] == ["fitted", "held out"]
    assert parts[0]["t"][0] == 0.5 and parts[1]["t"][-1] == pytest.approx(4.0, abs=0.02)
    assert done["fly"].startswith("xtdrone fly teleoperation --vehicle tello --sticks")
    assert "of no run" in client.ask("save")["error"]
    later = connect()  # another page sees what there is
    assert told(later, "done")["result"] == done["result"]


def test_a_search_is_cancelled_and_leaves_nothing(tuning, connect, log):
    client = connect()
    upload(tuning, "endless.csv", log.read_bytes())
    client.ask("start", **ENDLESS)
    told(client, "progress")
    assert len(tuning_server.children(tuning.process.pid)) == 1
    assert "cancel it first" in client.ask("open", log="flight.csv")["error"]
    client.send(op="cancel", id=2)
    assert told(client, "search", running=False)["cancelled"] is True
    assert not tuning_server.children(tuning.process.pid)
    assert [path.name for path in (tuning.runs / "tune_endless").iterdir()] == ["endless.csv"]
    assert client.ask("cancel")["ok"]


@pytest.mark.slow
@pytest.mark.parametrize("number, status", [(signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_the_end_of_the_server_ends_its_search(tmp_path, log, number, status):
    with tuning_server.serving(tmp_path, log, "--instance", "3") as other:
        client = Client(other.page, other.token)
        client.ask("start", **ENDLESS)
        told(client, "progress")
        (searching,) = tuning_server.children(other.process.pid)
        other.process.send_signal(number)
        assert other.process.wait(60) == status
        until(lambda: not _alive(searching), "the search ends")
        client.close()


def _alive(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, says",
    [
        (["/nowhere.csv"], "cannot read flight record '/nowhere.csv'"),
        (["--web_address", "somewhere"], "is not an IPv4 address"),
    ],
)
def test_a_server_that_cannot_start_says_why(words, says):
    error = refused(*words, "--instance", "3")
    assert says in error[-1] and len(error) == 1


def test_the_port_of_another_server_is_refused(tuning):
    port = urlsplit(tuning.page).port
    error = refused("--instance", str((port - 14913) // 3000))
    assert f"port {port} (TCP) of the tuning page cannot be opened" in error[-1]


def refused(*words):
    """What the command says that ends with an error, in a process of its own: it has a loop."""
    ended = subprocess.run(
        [sys.executable, "-m", "xtdrone_core.command", "tune", "--web", *words],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert ended.returncode == 1
    return ended.stderr.strip().splitlines()


def test_names_of_uploads_stay_in_their_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    for given in ("../../x.csv", "/etc/x.CSV", "..x.csv", "a b$(c).csv", "\u202e.csv"):
        path = logs.Logs().place(given).path
        assert path.parent.parent == tmp_path and path.suffix == ".csv"
    with pytest.raises(WebError):
        logs.Logs().place("x.csv/..")


def test_lines_that_are_no_messages_are_passed_over():
    assert worker.message('{"op": "done"}') == {"op": "done"}
    assert worker.message("[1]") == worker.message("hello") == worker.message('{"op": 1}') == {}
