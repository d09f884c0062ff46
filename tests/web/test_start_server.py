"""The server of the start page: form, refusals, names, tokens, uploads, and what it starts."""

import contextlib
import io
import json
import shutil
import signal
import stat
import subprocess
import zipfile
from xml.etree import ElementTree

import psutil
import pytest

import own_ports
from start_page import StartPage, multipart, start_page
from waiting import until
from web_client import Client
from xtdrone_core import Scenario, resources
from xtdrone_core.command import main
from xtdrone_core.errors import XtdroneError
from xtdrone_core.scenario import scenario_options
from xtdrone_core.scenario.launch_arguments import settable
from xtdrone_core.scenario.options import Option
from xtdrone_web.errors import WebError
from xtdrone_web.start import form, launch_file, shelf, uploads

VEHICLES = [
    {"type": "iris", "name": "iris_0", "pos": [0.0, 0.0, 0.0], "yaw": 0.0},
    {"type": "iris", "name": "iris_1", "pos": [3.0, 0.0, 0.0], "yaw": 0.5},
    {"type": "typhoon_h480", "name": "typhoon_h480_2", "pos": [0.0, 3.5, 0.0], "yaw": 0.0},
]
FORM = {
    "vehicles": VEHICLES,
    "options": {"world": "outdoor", "wind": "mean=2,0,0 dryden=3", "gps": "rtk", "seed": "7"},
    "agent": "",
    "settings": {},
}
ONE = [VEHICLES[0]]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with start_page(tmp_path_factory.mktemp("start")) as running:
        yield running


def test_tuning_page_is_there_and_needs_the_token(page):
    assert b"XTDrone tuning" in page.get("tune")[2]
    client = Client(f"{page.watch_url}tune/", page.token)
    assert client.until(lambda told: told["op"] == "welcome")
    assert client.ask("logs")["logs"] == []
    client.close()
    viewer = Client(f"{page.watch_url}tune/")
    assert viewer.receive() == "closed" or "needs its token" in str(viewer.said)
    viewer.close()
    status, _, body = page.send("POST", "tune/upload?name=a.csv", b"t\n1\n")
    assert status == 403 and b"token" in body


# The form ---------------------------------------------------------------------------------------


def test_form_has_every_option_of_a_scenario(page):
    told = page.ask("api/form")
    names = {option["name"] for option in told["options"]}
    of_the_page = {"vehicle", "n", "vehicles", "web", "web_address", "gui"}
    assert names == set(scenario_options.declared()) - of_the_page
    by_name = {option["name"]: option for option in told["options"]}
    assert by_name["log"]["choices"] == ["auto", "full", "fleet", "identification", "none"]
    assert by_name["gps"]["offered"] == ["rtk", "m8n"] and by_name["seed"]["minimum"] == 0
    assert by_name["wind"]["unit"] == "m/s" and by_name["instance"]["maximum"] == 4
    assert "scheme" in told["agents"]["formation"]["options"]
    assert "setup_gazebo" in told["ready"]["gazebo"]["how"] or told["ready"]["gazebo"]["there"]


def test_new_option_appears_by_itself(monkeypatch):
    table = scenario_options.declared()
    table["colour"] = (str, Option("of the sky", choices=("blue", "grey")), "blue")
    monkeypatch.setattr(scenario_options, "declared", lambda: table)
    monkeypatch.setattr(form.listing, "agents", dict)  # which would be imported
    added = next(each for each in form.description()["options"] if each["name"] == "colour")
    assert added["group"] == "More" and added["choices"] == ["blue", "grey"]


@pytest.mark.parametrize(
    "change, field, says",
    [
        ({"vehicles": []}, "vehicles", "1 to 250"),
        ({"vehicles": [*ONE, {**ONE[0], "name": "b"}]}, "vehicles", "0.6 m apart"),
        ({"vehicles": [{**ONE[0], "type": "ufo"}]}, "vehicles", "ufo"),
        ({"vehicles": [{**ONE[0], "name": "a b"}]}, "vehicles", "a b"),
        ({"vehicles": [{**ONE[0], "pos": [0, 0, 1e9]}]}, "vehicles", "z of 'iris_0'"),
        ({"vehicles": [{**ONE[0], "rocket": 1}]}, "vehicles", "rocket"),
        ({"vehicles": "iris"}, "vehicles", "1 to 250"),
        ({"options": {"seed": "-1"}}, "seed", "from 0"),
        ({"options": {"wind": "much"}}, "wind", "much"),
        ({"options": {"waves": "high"}}, "waves", "high"),
        ({"options": {"world": "nowhere"}}, "world", "nowhere"),
        ({"options": {"world": "../nowhere/passwd"}}, "world", "passwd"),
        ({"options": {"gps": "galileo"}}, "gps", "galileo"),
        ({"options": {"sensors": "nose.preset=big"}}, "sensors", "nose"),
        ({"options": {"remote": "1.2.3.4"}}, "remote", "key"),
        ({"options": {"disturbances": "5: rotor nobody 0 0.0"}}, "disturbances", "nobody"),
        ({"options": {"engine": "warp"}}, "engine", "warp"),
        ({"options": {"instance": 99}}, "instance", "0 to 4"),
        ({"options": {"web_address": "0.0.0.0"}}, "", "web_address"),
        ({"options": {"lights": "on"}}, "", "lights"),
        ({"agent": "nobody"}, "agent", "nobody"),
        ({"agent": "os:system"}, "agent", "os:system"),
        ({"agent": "formation", "settings": {"delay": "-3"}}, "set.delay", "0 to 60"),
        ({"agent": "formation", "settings": {"delai": "1"}}, "agent", "did you mean 'delay'"),
        ({"rockets": 1}, "", "vehicles"),
        ({"options": ["a"]}, "", "objects"),
    ],
)
def test_refusals_name_their_field_in_one_line(change, field, says):
    with pytest.raises(form.Refused) as refused:
        form.read({**FORM, "options": {}, "vehicles": ONE, **change})
    assert refused.value.field == field and says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_check_and_start_refuse_before_anything_runs(page):
    bad = {**FORM, "options": {"wind": "much"}}
    for path in ("api/check", "api/start"):
        said = page.ask(path, bad)
        assert said["ok"] is False and said["field"] == "wind"
    assert page.ask("api/check", FORM) == {"ok": True}
    assert page.ask("api/jobs")["jobs"] == []
    assert "cannot read" in page.ask("api/check", body=b"{")["error"]


# Saved scenarios --------------------------------------------------------------------------------


@pytest.mark.parametrize("agent, settings", [("", {}), ("formation", {"delay": "0.2"})])
def test_yaml_is_a_scenario_and_comes_back_as_the_form(page, agent, settings):
    asked = {**FORM, "agent": agent, "settings": settings}
    path = page.ask("api/scenarios/both", {"kind": "yaml", "form": asked})["path"]
    scenario = Scenario.load(path)
    assert [vehicle.name for vehicle in scenario.vehicles] == ["iris_0", "iris_1", "typhoon_h480_2"]
    assert (scenario.world, scenario.seed, scenario.gps) == ("outdoor", 7, "rtk")
    back = page.ask("api/scenarios/both")["form"]
    assert back["vehicles"] == VEHICLES and (back["agent"], back["settings"]) == (agent, settings)
    assert back["options"] == {**FORM["options"], "seed": 7, **({"speed": 1.0} if agent else {})}


def test_launch_file_is_read_by_roslaunch_and_comes_back(page, tmp_path):
    asked = {**FORM, "agent": "formation"}
    assert "path" in page.ask("api/scenarios/ros", {"kind": "launch", "form": asked})
    status, headers, body = page.get("scenarios/ros.launch")
    assert status == 200 and "attachment" in headers["Content-Disposition"]
    tree = ElementTree.fromstring(body)
    include = tree.find("include").get("file")
    ours = resources.root() / "launch" / "simulation.launch"
    assert include.replace(
        "$(find xtdrone_sim)", str(ours.parents[1] / "src/xtdrone_sim")
    ).endswith("/src/xtdrone_sim/../../launch/simulation.launch")
    assert "defaults" in {arg.get("name") for arg in ElementTree.parse(ours).iter("arg")}
    assert settable(ours) is not None and tree.find("node").get("type") == "agent"
    file = tmp_path / "ros.launch"
    file.write_bytes(body)
    plan = launch_file.load(file)
    assert plan.agent == "formation"
    assert plan.scenario == form.read(asked).scenario


@pytest.mark.skipif(shutil.which("roslaunch") is None, reason="ROS is not installed here")
def test_launch_file_gives_the_simulation_what_the_form_says(tmp_path):
    file = tmp_path / "ros.launch"
    file.write_text(launch_file.text(form.read({**FORM, "agent": "square"}), "ros"))
    done = subprocess.run(
        ["roslaunch", "--args", "simulation", file], text=True, capture_output=True
    )
    words = f"--default vehicles={launch_file.vehicle_list(form.read(FORM).scenario)} --default"
    assert done.returncode == 0 and words in done.stdout, done.stderr
    assert "--default wind=mean=2,0,0 dryden=3 --default" in done.stdout


def test_launch_file_keeps_names():
    vehicles = [{**ONE[0], "name": "uav0"}]
    plan = form.read({**FORM, "agent": "square", "settings": {}, "vehicles": vehicles})
    assert launch_file.vehicle_list(plan.scenario).startswith("uav0=iris@")


def test_launch_file_refuses_what_it_cannot_say():
    def refused(**change):
        with pytest.raises(XtdroneError) as error:
            launch_file.text(form.read({**FORM, **change}), "x")
        return str(error.value)

    assert "delay" in refused(agent="formation", settings={"delay": "1"})
    assert "$(" in refused(options={"params": "$(env HOME)/x"})


def test_uploaded_scenarios_are_checked(page):
    def put(name, body):
        return page.ask(f"api/scenarios/{name}", method="PUT", body=body)

    assert put("own.yaml", b"vehicles: iris*3\n")["form"]["vehicles"][2]["pos"] == [0.0, 3.0, 0.0]
    assert "rockets" in put("bad.yaml", b"rockets: 3\n")["error"]
    assert "launch file" in put("bad.launch", b"<launch/>")["error"]
    names = [entry["name"] for entry in page.ask("api/scenarios")["scenarios"]]
    assert "own" in names and "bad" not in names
    assert page.ask("api/scenarios/own", method="DELETE") == {"ok": True}
    assert "no scenario" in page.ask("api/scenarios/own")["error"]


@pytest.mark.parametrize("name", ["..", "../x", "a/b", ".hidden", "latest", "a b", "x" * 300, ""])
def test_names_lead_nowhere_else(tmp_path, name):
    with pytest.raises(XtdroneError):
        shelf.Shelf(tmp_path).save(name, "yaml", form.read(FORM))
    assert list(tmp_path.iterdir()) == []


# Own models -------------------------------------------------------------------------------------


def sdf(vehicle="iris"):
    return resources.vehicle_sdf(vehicle).read_bytes()


def zipped(files, **more):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        for name, mode in more.items():
            entry = zipfile.ZipInfo(f"{name}.sdf")
            entry.external_attr = mode << 16
            archive.writestr(entry, "/etc/passwd")
    return data.getvalue()


@pytest.mark.parametrize(
    "sent, says",
    [
        ({}, "nothing"),
        ({"../x.sdf": b""}, "'../x.sdf'"),
        ({"/etc/x.sdf": b""}, "not allowed"),
        ({"a/../../x.sdf": b""}, "not allowed"),
        ({"a\\..\\x.sdf": b""}, "not allowed"),
        ({"x.sdf": b"", "run.sh": b""}, "run.sh"),
        ({".x.sdf": b""}, "not allowed"),
        ({"a.zip": b"no zip"}, "cannot read the zip"),
        ({"a.zip": b"", "b.sdf": b""}, "alone"),
        ({"a.zip": zipped({"../x.sdf": "x"})}, "not allowed"),
        ({"a.zip": zipped({}, link=stat.S_IFLNK | 0o777)}, "is a link"),
        ({"a.zip": zipped({"a.png": bytes(3 << 20)})}, "2 MB"),
        ({"a.zip": zipped({f"{k}.png": "" for k in range(401)})}, "401 files"),
        ({"/".join("abcdefghi") + ".sdf": b""}, "not allowed"),
    ],
)
def test_uploads_that_lead_elsewhere_or_are_too_much(sent, says, monkeypatch):
    monkeypatch.setattr(uploads, "MAX_UNPACKED", 2 << 20)
    with pytest.raises(WebError, match="(?s)") as refused:
        uploads.unpacked(sent)
    assert says in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.slow
def test_own_model_is_kept_shown_and_flown(page):
    body, kind = multipart([("my.zip", zipped({"mine/model.sdf": sdf(), "mine/meshes/a.txt": ""}))])
    said = page.ask("api/models/mine", body=body, method="POST", **{"Content-Type": kind})
    assert said["label"] == "mine" and said["rotors"] == 4 and "gps" in said["sensors"]
    assert page.ask("api/check", {**FORM, "vehicles": [{**ONE[0], "type": said["name"]}]}) == {
        "ok": True
    }
    assert (
        "already"
        in page.ask("api/models/mine", body=body, method="POST", **{"Content-Type": kind})["error"]
    )
    assert page.ask("api/models/mine", method="DELETE") == {"ok": True}
    assert not (page.folder / "scenarios/models/mine").exists()


PARTS = {
    "frame": "450",
    "kv": "920",
    "propeller": "apcsf-10x4.7",
    "cells": "4",
    "capacity": "5",
    "mass": "1.6",
}


@pytest.mark.slow
def test_a_vehicle_is_made_of_parts(page):
    made = page.ask("api/designs/hawk", PARTS)
    assert made["label"] == "hawk" and made["mass_kg"] == pytest.approx(1.6)
    assert made["said"].startswith("Hover at") and made["name"].endswith("hawk/model.sdf")
    for name, change, says in (
        ("hawk", {}, "there is a model 'hawk' already"),
        ("kite", {"mass": "16"}, "thrust to weight"),
        ("kite", {"kv": ""}, "lacks kv"),
    ):
        assert says in page.ask(f"api/designs/{name}", PARTS | change)["error"]
        assert not (page.folder / "scenarios/models/kite").exists()
    assert page.ask("api/models/hawk", method="DELETE") == {"ok": True}


@pytest.mark.parametrize(
    "name, files, says",
    [
        ("bad", [("model.sdf", b"<sdf><model name='x'>")], "model.sdf"),
        ("none", [("notes.txt", b"x")], "no SDF"),
        ("..%2f..%2fx", [("model.sdf", b"")], "folder name"),
    ],
)
def test_refused_model_leaves_nothing(page, name, files, says):
    body, kind = multipart(files)
    said = page.ask(f"api/models/{name}", body=body, method="POST", **{"Content-Type": kind})
    assert says in said["error"] and "\n" not in said["error"]
    models = page.folder / "scenarios" / "models"
    assert not models.exists() or list(models.iterdir()) == []


# Who may ----------------------------------------------------------------------------------------


def test_hosts_origins_and_tokens(page):
    assert page.get("/", Host="evil.example")[0] == 403
    assert page.get("/api/runs", Origin="http://evil.example")[0] == 403
    body = json.dumps(FORM).encode()
    for token in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": page.token}):
        for method, path in (
            ("POST", "api/start"),
            ("POST", "api/check"),
            ("DELETE", "api/scenarios/x"),
            ("POST", "api/models/x"),
            ("POST", "api/runs/x/plot"),
            ("PUT", "api/scenarios/x.yaml"),
        ):
            status, _, said = page.send(method, path, body, **token)
            assert status == 403 and b"look and not command" in said, (method, path)
    assert "wrong" in page.ask("api/me", Authorization="Bearer wrong")["error"]
    assert page.ask("api/me")["pilot"] and page.ask("api/runs", Authorization="")["runs"] == []


def test_page_has_the_policy_and_no_inline_script(page):
    status, headers, body = page.get("/")
    text = body.decode()
    assert status == 200 and "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert "style=" not in text and "onclick" not in text
    assert text.count("<script") == text.count('<script type="module" src=')


# Runs -------------------------------------------------------------------------------------------


@pytest.fixture
def run(page):
    folder = page.folder / "runs" / "flown"
    (folder / "plots").mkdir(parents=True, exist_ok=True)
    (folder / "summary.json").write_text(
        json.dumps(
            {
                "n": 2,
                "world": "empty",
                "transport": "agent",
                "sim_time_s": 12.5,
                "ended": "finished",
                "crashes": [],
                "reached": {"corners": [3, 4]},
            }
        )
    )
    (folder / "scenario.yaml").write_text("vehicles: [{type: iris}, {type: /a/b/solo}]\n")
    (folder / "plots" / "flight.png").write_bytes(b"\x89PNG")
    (folder / "report.html").write_text("<script>alert(1)</script>")
    (folder / "truth.bin").write_bytes(b"1234")
    if not (folder / "out").is_symlink():
        (folder / "out").symlink_to("/etc/passwd")
    return folder


def test_runs_are_listed_with_their_result(page, run):
    row = page.ask("api/runs")["runs"][0]
    assert row["name"] == "flown" and row["vehicles"] == "1 iris, 1 solo"
    assert row["seconds"] == 12.5 and row["result"] == "corners 3 of 4, finished"
    found = page.ask("api/runs/flown")
    assert found["plots"] == ["plots/flight.png"] and "report.html" in found["reports"]
    assert found["summary"]["world"] == "empty"


def test_files_of_a_run_are_served_without_scripts(page, run):
    status, headers, _ = page.get("runs/flown/report.html")
    assert status == 200 and "sandbox" in headers["Content-Security-Policy"]
    assert "script" not in headers["Content-Security-Policy"]
    assert page.get("runs/flown/plots/flight.png")[1]["Content-Type"] == "image/png"
    assert page.get("runs/flown/truth.bin")[1]["Content-Disposition"] == "attachment"


@pytest.mark.parametrize(
    "path",
    [
        "runs/flown/out",
        "runs/flown/%2e%2e/%2e%2e/secret",
        "runs/%2e%2e/secret",
        "runs/flown/none",
        "runs/flown/..%2f..%2fsecret",
        "runs/nobody/summary.json",
        "static/..%2fserver/app.py",
        "scenarios/..%2fsecret.yaml",
        "picture/vehicle/..%2fsecret.jpg",
    ],
)
def test_files_elsewhere_are_not_served(page, run, path):
    (page.folder / "secret").write_text("secret")
    (page.folder / "secret.yaml").write_text("secret")
    status, _, body = page.get(path)
    assert status in (403, 404) and b"secret\n" not in body.replace(b"secret'", b"")


# What it starts ---------------------------------------------------------------------------------


def started(page, **change):
    job = page.ask(
        "api/start",
        {
            "vehicles": ONE,
            "options": {"instance": own_ports.PORTS.instance, "log": "none", **change},
        },
    )
    assert "number" in job, job
    return job


@pytest.mark.slow
def test_simulation_starts_shows_its_link_and_stops(page):
    job = started(page, name="of_page")

    def told():
        return page.ask(f"api/jobs/{job['number']}")

    until(
        lambda: told()["state"] != "starting" and "run folder" in told()["last"],
        "the page of the simulation is linked",
    )
    found = told()
    assert f":{own_ports.PORTS.web}/#token=" in found["link"] and found["run"] == "of_page"
    assert not any("token" in line for line in found["lines"])
    viewer = page.ask(f"api/jobs/{job['number']}", Authorization="")
    assert "token" not in json.dumps(viewer) and viewer["link"]
    again = page.ask(
        "api/start", {"vehicles": ONE, "options": {"instance": own_ports.PORTS.instance}}
    )
    assert again["field"] == "instance" and "runs" in again["error"]
    until(lambda: told()["clock"].get("t", 0.0) > 0.2, "its clock goes")
    stopped = page.ask(f"api/jobs/{job['number']}/stop", {})
    assert stopped["state"] == "stopped" and not children(page)
    assert page.ask("api/runs/of_page")["world"] == "empty"


def children(page):
    return [
        child
        for child in psutil.Process(page.process.pid).children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE
    ]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_when_the_server_ends(tmp_path, number):
    page = StartPage(tmp_path, "--port", str(own_ports.PORTS.start + 1))
    started(page)
    begun = children(page)
    assert begun
    page.process.send_signal(number)
    page.process.wait(60)
    until(
        lambda: (
            not any(
                child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in begun
            )
        ),
        "the simulation has ended, too",
    )
    assert page.stop() == (0 if number == signal.SIGINT else -signal.SIGKILL)


@pytest.mark.slow
def test_failed_simulation_says_why(page):
    job = started(page, params="/nowhere.params")
    told = until(
        lambda: (found := page.ask(f"api/jobs/{job['number']}"))["ended"] and found,
        "it has been refused",
    )
    assert told["state"] == "failed" and "nowhere.params" in told["last"]


@pytest.mark.parametrize(
    "options, says",
    [
        (["--address", "here"], "IPv4"),
        (["--port", "80"], "1024"),
        (["nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_bad_options_of_the_command(capsys, options, says):
    with contextlib.suppress(SystemExit):
        assert main(["web", *options]) == 1
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1


def test_taken_port_is_said(page, capsys):
    assert main(["web"]) == 1
    said = capsys.readouterr().err
    assert f"port {own_ports.PORTS.start}" in said and said.count("\n") == 1


# What cannot be flown -----------------------------------------------------------------------------

FIVE = [{**VEHICLES[0], "name": f"iris_{k}", "pos": [3.0 * k, 0.0, 0.0]} for k in range(5)]
PLANE = [{**VEHICLES[0], "type": "plane", "name": "plane_0"}]


@pytest.mark.parametrize(
    "vehicles, agent, settings, field, says",
    [
        (FIVE, "formation", {}, "set.formations", "'cube' does not fit 5 vehicles"),
        (FIVE, "formation", {"formations": "line,cube"}, "set.formations", "it needs 9"),
        (FIVE, "formation_mission", {"formation": "cube"}, "set.formation", "does not fit"),
        (FIVE, "explore", {}, "agent", "give one vehicle"),
        (ONE, "formation", {}, "agent", "give 2 or more"),
        (ONE, "mission", {}, "mission", "flies a plan"),
        (ONE, "race", {}, "track", "flies a track"),
        (PLANE, "square", {}, "vehicles", "plane_0 cannot hover"),
    ],
)
def test_what_an_agent_cannot_fly_is_refused_at_its_field(vehicles, agent, settings, field, says):
    plan = form.read({"vehicles": vehicles, "options": {}, "agent": agent, "settings": settings})
    with pytest.raises(form.Refused) as refused:
        form.check(plan)
    assert refused.value.field == field and says in str(refused.value)


def test_five_that_fit_are_not_refused():
    settings = {"formations": "line,V"}
    form.check(
        form.read({"vehicles": FIVE, "options": {}, "agent": "formation", "settings": settings})
    )


@pytest.mark.parametrize(
    "option, value, field", [("engine", "gazebo", "engine"), ("autopilot", "px4", "autopilot")]
)
def test_a_program_that_is_not_installed_is_refused(monkeypatch, tmp_path, option, value, field):
    monkeypatch.delenv("PX4_BUILD", raising=False)
    monkeypatch.setattr("xtdrone_control.doctor.machine.root", lambda: tmp_path)
    plan = form.read({"vehicles": ONE, "options": {option: value}})
    with pytest.raises(form.Refused, match="is not installed here") as refused:
        form.check(plan)
    assert refused.value.field == field
