"""Each control of the start page is used in Chromium, and what it did is looked up elsewhere."""

import contextlib
import json
import os

import pytest

import browser
import own_ports
from start_page import start_page
from waiting import LIMIT_S
from xtdrone_core import Scenario, resources
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_web.start import form, launch_file

pytestmark = pytest.mark.long

DATA = "start.form.data()"
DROP = """([name, text]) => { const files = new DataTransfer();
    files.items.add(new File([text], name));
    document.getElementById("drop").dispatchEvent(
        new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true })); }"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with start_page(tmp_path_factory.mktemp("start")) as running:
        yield running


@pytest.fixture(scope="module")
def page(context, server):
    page, errors = browser.opened(context, server.url)
    yield page
    page.close()
    assert errors == []


@pytest.fixture
def empty(page):
    """The form as it is at the beginning, without vehicles."""
    page.click("#t-form")
    page.evaluate("start.form.load({vehicles: [], options: {}, agent: '', settings: {}})")
    page.evaluate("scrollTo(0, 0)")
    return page


def data(page):
    return page.evaluate(DATA)


def said_at(page, field):
    """The refusal that is shown at a field, once there is one."""
    selector = f'[data-field="{field}"] .refusal'
    return browser.until(page, f"document.querySelector('{selector}').textContent")


def place_three(page):
    """Two iris and a typhoon, by clicks on the map."""
    for type_, (x, y) in (("iris", (100, 100)), ("iris", (220, 100)), ("typhoon_h480", (100, 220))):
        page.click(f"#types [data-type={type_}]")
        page.click("#startmap", position={"x": x, "y": y})


def test_vehicles_on_the_map(empty):
    place_three(empty)
    vehicles = data(empty)["vehicles"]
    assert [each["name"] for each in vehicles] == ["iris_0", "iris_1", "typhoon_h480_2"]
    assert vehicles[1]["pos"][0] - vehicles[0]["pos"][0] > 1
    box = empty.locator("#startmap").bounding_box()
    empty.mouse.move(box["x"] + 100, box["y"] + 220)
    empty.mouse.down()
    empty.mouse.move(box["x"] + 160, box["y"] + 260, steps=4)
    empty.mouse.up()
    moved = data(empty)["vehicles"]
    assert moved[2]["pos"][0] > vehicles[2]["pos"][0] and moved[2]["pos"][1] < vehicles[2]["pos"][1]
    assert moved[:2] == vehicles[:2]
    empty.mouse.move(box["x"] + 300, box["y"] + 300)
    scale = empty.evaluate("start.fleet.map.scale")
    empty.mouse.wheel(0, -200)
    browser.until(empty, f"start.fleet.map.scale > {scale}")
    empty.click("#fitmap")
    empty.fill("[aria-label='yaw of iris_1']", "90")
    empty.locator("[aria-label='yaw of iris_1']").press("Tab")
    assert data(empty)["vehicles"][1]["yaw"] == pytest.approx(1.5708, abs=1e-3)
    empty.click("[aria-label='remove iris_0']")
    assert [each["name"] for each in data(empty)["vehicles"]] == ["iris_0", "typhoon_h480_1"]
    assert "1 iris, 1 typhoon_h480 in empty" in empty.inner_text("#summary")
    empty.click("#clearfleet")
    assert "0 vehicles" in said_at(empty, "vehicles")


@pytest.mark.parametrize("shape", ["grid", "line", "circle"])
def test_patterns_can_be_flown(empty, shape):
    """Four are four, whatever stood there; more stand beside them."""
    place_three(empty)
    empty.click("#types [data-type=solo]")
    empty.select_option("#patterns [name=shape]", shape)
    empty.fill("#patterns [name=count]", "4")
    empty.click("#patterns [value=place]")
    places = [each["pos"] for each in data(empty)["vehicles"]]
    assert len(places) == 4
    if shape == "grid":
        assert sorted(places) == [[0, 0, 0], [0, 3, 0], [3, 0, 0], [3, 3, 0]]
    empty.fill("#patterns [name=count]", "3")
    empty.click("#patterns [value=add]")
    assert form.read(data(empty)).scenario.n == 7


@pytest.mark.parametrize(
    "field, agent, options, vehicles, words",
    [
        ("set.formations", "formation", {}, 5, "does not fit 5 vehicles"),
        ("engine", "", {"engine": "gazebo"}, 1, "not installed"),
        ("autopilot", "", {"autopilot": "px4"}, 1, "not installed"),
    ],
)
def test_what_cannot_be_flown_is_refused_at_its_field(
    empty, field, agent, options, vehicles, words
):
    start = empty.evaluate("start.form.offered.ready")
    if field in ("engine", "autopilot") and start[options[field]]["there"]:
        pytest.skip(f"{options[field]} is installed here")
    empty.evaluate(
        "([agent, options, n]) => start.form.load({vehicles: Array.from({length: n}, (_, k) => "
        "({type: 'iris', pos: [3 * k, 0, 0], yaw: 0})), options, agent, settings: {}})",
        [agent, options, vehicles],
    )
    assert words in said_at(empty, field)
    assert empty.is_visible(f'[data-field="{field}"] .refusal')
    if options:
        name = options[field]
        assert "not installed" in empty.inner_text(f'.choices [data-name="{name}"]')


def test_a_plane_cannot_fly_a_formation(empty):
    empty.evaluate(
        "start.form.load({vehicles: [{type: 'plane', pos: [0, 0, 0], yaw: 0}], options: {}, "
        "agent: 'square', settings: {}})"
    )
    assert "cannot hover" in said_at(empty, "vehicles")


def test_types_are_filtered_described_and_have_pictures(empty):
    empty.fill("#typefilter", "hexarotor 2.5")
    shown = empty.eval_on_selector_all(
        "#types button", "all => all.filter(b => !b.hidden).map(b => b.dataset.type)"
    )
    assert shown == ["typhoon_h480"]
    browser.until(empty, "!document.querySelector('.nopicture')", LIMIT_S)
    empty.click("#types [data-type=typhoon_h480]")
    assert "6 rotors" in empty.inner_text("#typeinfo")
    assert (
        empty.eval_on_selector(
            "#types [data-type=typhoon_h480] img", "i => i.decode().then(() => i.naturalWidth)"
        )
        == 360
    )
    empty.fill("#typefilter", "")


def test_options_have_their_controls(empty):
    place_three(empty)
    browser.until(empty, "document.querySelector('#worlds img')", LIMIT_S)
    empty.click("#worlds [data-world=outdoor]")
    empty.fill("[aria-label='wind east']", "3")
    empty.fill("[aria-label='wind turbulence']", "2")
    empty.select_option("[data-kind=imu]", "bmi088")
    empty.fill("#o-gps", "m8n")
    empty.fill("#o-seed", "5")
    empty.select_option("#o-log", "none")
    empty.click("#more summary")
    empty.select_option("#o-origin", "own")
    assert data(empty)["options"] == {
        "world": "outdoor",
        "wind": "mean=3,0,0 dryden=2",
        "sensors": "imu.preset=bmi088",
        "gps": "m8n",
        "seed": "5",
        "log": "none",
        "origin": "own",
    }
    scenario = form.read(data(empty)).scenario
    assert (scenario.world, scenario.origin, scenario.seed) == ("outdoor", "own", 5)
    empty.click("[data-field=engine] [data-name=gazebo]")
    assert data(empty)["options"]["engine"] == "gazebo"
    empty.click("[data-field=engine] [data-name=embedded]")
    assert "engine" not in data(empty)["options"]
    px4 = os.environ.get("PX4_BUILD", "PX4_BUILD")  # what is built, or what to set
    assert px4 in empty.inner_text("[data-field=autopilot]")


def test_refusals_are_at_their_field_and_nothing_starts(empty, server):
    place_three(empty)
    empty.fill("#o-wind", "much")
    assert "much" in said_at(empty, "wind")
    assert empty.get_attribute("#o-wind", "aria-invalid") == "true"
    empty.click("#start")
    browser.until(empty, "document.getElementById('toast').textContent.includes('much')")
    assert server.ask("api/jobs")["jobs"] == []
    empty.fill("#o-wind", "")
    browser.until(empty, "!document.querySelector('[data-field=wind] .refusal').textContent")
    empty.select_option("#o-agent", "formation")
    empty.click("#settings summary")
    empty.fill("#s-formations", "line")
    empty.fill("#s-delay", "-1")
    assert "delay" in said_at(empty, "set.delay")
    empty.fill("#s-delay", "0.1")
    browser.until(
        empty, "[...document.querySelectorAll('#p-form .refusal')].every((p) => !p.textContent)"
    )


def test_saved_files_equal_the_form(empty, server, tmp_path):
    place_three(empty)
    empty.click("#worlds [data-world=outdoor]")
    empty.fill("[aria-label='wind north']", "-1.5")
    empty.select_option("#o-agent", "square")
    wanted = form.read(data(empty))
    empty.fill("#savename", "three")
    for button, suffix in (("#saveyaml", "yaml"), ("#savelaunch", "launch")):
        empty.click(button)
        browser.until(
            empty, f"document.getElementById('toast').textContent.endsWith('three.{suffix}')"
        )
    folder = server.folder / "scenarios"
    assert Scenario.load(folder / "three.yaml") == wanted.scenario
    assert launch_file.load(folder / "three.launch") == wanted
    empty.fill("#savename", "../three")
    empty.click("#saveyaml")
    browser.until(empty, "document.getElementById('toast').textContent.includes('folder name')")
    empty.click("#t-shelf")
    with empty.expect_download() as download:
        empty.click("#shelf [data-name=three] a:text('yaml')")
    assert Scenario.load(download.value.path()) == wanted.scenario
    empty.click("[aria-label='edit three']")
    assert form.read(data(empty)) == wanted
    empty.click("#t-shelf")
    other = tmp_path / "other.yaml"
    other.write_text("vehicles: solo*2\nworld: lake\n")
    empty.set_input_files("#uploadscenario", other)
    browser.until(empty, "start.form.inputs.world.value === 'lake'")
    assert [each["type"] for each in data(empty)["vehicles"]] == ["solo", "solo"]
    empty.click("#t-shelf")
    other.write_text("rockets: 2\n")
    empty.set_input_files("#uploadscenario", other)
    browser.until(empty, "document.getElementById('shelfsays').textContent.includes('rockets')")
    empty.click("[aria-label='remove other']")
    browser.until(empty, "!document.querySelector('#shelf [data-name=other]')")
    assert not (folder / "other.yaml").exists()


def test_own_sdf_is_dropped_and_a_broken_one_refused(empty, server):
    text = resources.vehicle_sdf("iris").read_text()
    empty.evaluate(DROP, ["broken.sdf", "<sdf version='1.6'><model name='x'>"])
    browser.until(empty, "document.getElementById('dropsays').className === 'refusal'", LIMIT_S)
    assert "broken.sdf" in empty.inner_text("#dropsays")
    assert not (server.folder / "scenarios/models/broken").exists()
    empty.fill("#modelname", "mine")
    empty.evaluate(DROP, ["model.sdf", text])
    browser.until(
        empty, "document.getElementById('dropsays').textContent.includes(\"'mine'\")", LIMIT_S
    )
    browser.until(
        empty, "document.querySelector('#types [aria-checked=true] b').textContent === 'mine'"
    )
    assert "4 rotors" in empty.inner_text("#typeinfo")
    empty.click("#startmap", position={"x": 150, "y": 150})
    plan = form.read(data(empty))
    assert plan.scenario.vehicles[0].name == "mine_0"
    assert plan.scenario.vehicles[0].type.endswith("models/mine/model.sdf")


def test_a_vehicle_is_made_of_parts_and_placed(empty, server):
    """A 10-inch quadrotor; the field has the next name then, so that parts can be changed."""
    says = "document.getElementById('designsays')"
    empty.click("#designer summary")
    empty.fill("#design [name=mass]", "16")
    empty.click("#makedesign")
    browser.until(empty, f"{says}.className === 'refusal'", LIMIT_S)
    assert "thrust to weight" in empty.inner_text("#designsays")
    empty.fill("#design [name=mass]", "1.6")
    empty.click("#makedesign")
    browser.until(empty, f"{says}.textContent.includes(\"'hawk' is the type to place\")", LIMIT_S)
    assert "Hover at" in empty.inner_text("#designsays")
    assert empty.input_value("#design [name=name]") == "hawk_2"
    assert empty.inner_text("#types [aria-checked=true] b") == "hawk"
    empty.click("#startmap", position={"x": 150, "y": 150})
    plan = form.read(data(empty))
    assert plan.scenario.vehicles[0].type.endswith("models/hawk/model.sdf")
    empty.click("#designer summary")


def test_three_vehicles_of_two_types_fly_and_are_stopped(empty, server, context):
    place_three(empty)
    empty.select_option("#o-agent", "square")
    empty.fill("#o-instance", str(own_ports.PORTS.instance))
    empty.fill("#o-name", "flown")
    empty.click("#start")
    browser.until(empty, "document.querySelector('.job .running')", LIMIT_S)
    link = empty.get_attribute(".job a.open", "href")
    other = context.new_page()
    other.goto(link)
    assert other.title() == "XTDrone station"
    other.close()
    with contextlib.closing(ControlClient(own_ports.PORTS.instance, LIMIT_S)) as control:
        names = ["iris_0", "iris_1", "typhoon_h480_2"]
        for _ in range(3000):
            states = [control.request("where", model=name)["state"] for name in names]
            if min(state[2] for state in states) > 1.5:
                break
            empty.wait_for_timeout(100)
        else:
            raise AssertionError(states)
    browser.until(empty, "document.querySelector('.job .quiet').textContent.includes('simulated')")
    empty.click(".job button:text('Stop')")
    browser.until(empty, "document.querySelector('.job .stopped')", LIMIT_S)
    told = server.ask("api/jobs")["jobs"][0]
    assert told["state"] == "stopped" and told["run"] == "flown"
    summary = json.loads((server.folder / "runs/flown/summary.json").read_text())
    assert summary["n"] == 3 and summary["sim_time_s"] > 2.0


def test_two_simulations_started_at_once_fly_beside_each_other(empty, server, context):
    for name, east in (("first", 0.0), ("second", 40.0)):
        empty.click("#t-form")
        place_three(empty)
        empty.evaluate(f"start.fleet.vehicles.forEach((v) => {{ v.pos[0] += {east}; }})")
        empty.select_option("#o-agent", "square")
        empty.fill("#o-name", name)
        empty.click("#start")
        # The page turns to what runs when the server has answered.
        browser.until(empty, "document.getElementById('t-jobs').ariaSelected === 'true'", LIMIT_S)
        empty.evaluate("start.form.load({vehicles: [], options: {}, agent: '', settings: {}})")
    browser.until(empty, "document.querySelectorAll('.job .running').length === 2", LIMIT_S)
    jobs = [job for job in server.ask("api/jobs")["jobs"] if job["state"] == "running"]
    assert [job["title"].partition(":")[0] for job in jobs] == ["second", "first"]
    assert len({job["instance"] for job in jobs}) == len({job["link"] for job in jobs}) == 2
    for job, east in zip(jobs, (40.0, 0.0), strict=True):
        with contextlib.closing(ControlClient(job["instance"], LIMIT_S)) as control:
            for _ in range(3000):
                state = control.request("where", model="iris_0")["state"]
                if state[2] > 1.5:
                    break
                empty.wait_for_timeout(100)
            assert state[2] > 1.5 and abs(state[0] - east) < 20.0
        other, errors = browser.opened(context, job["link"])
        assert "iris_0" in other.inner_text("body") and errors == []
        other.close()
    for left in (1, 0):
        empty.click(".job button:text('Stop'):visible")
        browser.until(
            empty,
            f"document.querySelectorAll('.job .running, .job .stopping').length === {left}",
            LIMIT_S,
        )
    for name in ("first", "second"):
        summary = json.loads((server.folder / f"runs/{name}/summary.json").read_text())
        assert summary["n"] == 3 and summary["sim_time_s"] > 2.0 and not summary["crashes"]


@pytest.mark.px4
@pytest.mark.skipif(not os.environ.get("PX4_BUILD"), reason="needs PX4_BUILD, a build of PX4")
def test_real_px4_flies_from_the_form(empty, server):
    empty.click("#types [data-type=iris]")
    empty.click("#startmap", position={"x": 150, "y": 150})
    assert os.environ["PX4_BUILD"] in empty.inner_text("[data-field=autopilot]")
    empty.click("[data-field=autopilot] [data-name=px4]")
    empty.select_option("#o-agent", "square")
    empty.fill("#o-name", "real")
    empty.click("#start")
    browser.until(empty, "document.querySelector('.job .running')", LIMIT_S)
    job = server.ask("api/jobs")["jobs"][0]
    assert job["title"] == "real: square, 1 vehicle in empty, px4"
    with contextlib.closing(ControlClient(job["instance"], LIMIT_S)) as control:
        for _ in range(1200):
            state = control.request("where", model="iris_0")["state"]
            if state[2] > 1.5:
                break
            empty.wait_for_timeout(100)
        assert state[2] > 1.5, server.ask("api/jobs")["jobs"][0]
    empty.click(".job button:text('Stop')")
    browser.until(empty, "document.querySelector('.job .stopped')", LIMIT_S)
    summary = json.loads((server.folder / "runs/real/summary.json").read_text())
    assert summary["autopilot"] == "px4" and not summary["crashes"]


def test_runs_with_their_plots(empty, server):
    """After the flight of the test before."""
    if not (server.folder / "runs/flown").exists():
        pytest.skip("nothing has been flown")
    empty.click("#t-runs")
    browser.until(empty, "document.querySelector('#runtable [data-name=flown]')")
    assert "2 iris, 1 typhoon_h480" in empty.inner_text("#runtable [data-name=flown]")
    empty.click("#runtable [data-name=flown] button")
    browser.until(empty, "document.querySelector('#do-plot')")
    empty.click("#do-plot")
    browser.until(
        empty, "document.getElementById('runsays').textContent === 'the plots are drawn'", LIMIT_S
    )
    assert (server.folder / "runs/flown/plots/map.png").exists()
    pictures = empty.locator(".gallery img")
    assert pictures.count() > 3
    pictures.first.scroll_into_view_if_needed()
    browser.until(empty, "document.querySelector('.gallery img').naturalWidth > 100")
    assert empty.locator("#run a:text('summary.json')").count() == 1
    empty.fill("#runfilter", "nothing of that")
    assert empty.eval_on_selector("#runtable [data-name=flown]", "row => row.hidden")
    empty.fill("#runfilter", "")


def test_everything_by_the_keyboard_alone(empty, server):
    empty.focus(".skip")
    seen = []
    for _ in range(200):
        empty.keyboard.press("Tab")
        found = empty.evaluate(
            "(() => { const e = document.activeElement; return [e.id || e.name "
            "|| e.dataset.type || e.dataset.world || e.dataset.name || '', "
            "e.getClientRects().length]; })()"
        )
        seen.append(found[0])
        if found[0] == "start":
            break
    for name in (
        "t-form",
        "theme",
        "startmap",
        "count",
        "typefilter",
        "choosefiles",
        "o-world",
        "o-agent",
        "o-wind",
        "o-gps",
        "savename",
        "saveyaml",
        "start",
    ):
        assert name in seen, (name, seen)
    empty.focus("#types [aria-checked=true]")
    before = empty.evaluate("start.fleet.type")
    empty.keyboard.press("ArrowRight")
    assert empty.evaluate("start.fleet.type") != before
    empty.focus("#startmap")
    empty.keyboard.press("Enter")
    empty.keyboard.press("ArrowRight")
    empty.keyboard.press("Shift+ArrowUp")
    x, y = empty.evaluate("start.fleet.map.centre")
    assert data(empty)["vehicles"][0]["pos"] == pytest.approx([x + 1, y + 0.1, 0], abs=0.11)
    empty.focus("#savename")
    empty.keyboard.press("Control+A")
    empty.keyboard.type("by_keys")
    empty.keyboard.press("Tab")
    empty.keyboard.press("Enter")
    browser.until(empty, "document.getElementById('toast').textContent.endsWith('by_keys.yaml')")
    assert (server.folder / "scenarios/by_keys.yaml").exists()
    empty.focus("#startmap")
    empty.keyboard.press("Delete")
    assert data(empty)["vehicles"] == []
    empty.focus("#t-form")
    empty.keyboard.press("ArrowRight")
    assert empty.get_attribute("#t-jobs", "aria-selected") == "true"


def test_theme_phone_and_every_control_has_a_name(empty):
    theme = empty.get_attribute("html", "data-theme")
    empty.click("#theme")
    assert empty.get_attribute("html", "data-theme") != theme
    empty.click("#theme")
    place_three(empty)
    nameless = empty.evaluate("""[...document.querySelectorAll("input, select, button, canvas")]
        .filter((e) => !e.hidden && !e.ariaLabel && !e.labels?.length && !e.textContent.trim())
        .map((e) => e.outerHTML)""")
    assert nameless == []
    size = empty.viewport_size
    try:
        empty.set_viewport_size({"width": 390, "height": 844})
        for tab in ("form", "jobs", "shelf", "runs"):
            empty.click(f"#t-{tab}")
            assert empty.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab
    finally:
        empty.set_viewport_size(size)


def test_viewers_look_and_do_not_start(context, server):
    page = context.new_page()
    errors = browser.watched(page)
    page.goto("about:blank")
    page.evaluate("1")
    page.goto(server.watch_url)
    page.evaluate("sessionStorage.clear()")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert "View only: for commands open the link" in page.inner_text("#role")
    assert page.is_disabled("#start") and page.is_disabled("#saveyaml")
    page.click("#t-runs")
    browser.until(page, "document.querySelector('#runtable tbody tr')")
    page.close()
    assert errors == []


def test_tuning_page_opens_beside_it(page):
    page.click("#t-form")
    page.click("#tuning")
    page.wait_for_selector("#logs")
    browser.until(page, "document.title.includes('tuning')")
    page.go_back()
    page.wait_for_selector("body[data-ready]")
