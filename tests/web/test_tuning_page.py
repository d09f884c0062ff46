"""Each control of the tuning page is used; what it finds is what the command finds."""

import json
import urllib.request

import pytest
import yaml

import browser
import stick_flights
import tuning_server
from own_ports import LATEST
from xtdrone_core import command

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def tuning(tmp_path_factory):
    """The server without a log, and a run whose vehicle was flown by sticks."""
    runs = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XTDRONE_RUNS", str(runs))
        log, _ = stick_flights.flown()
        with tuning_server.serving(runs) as running:
            running.log = log
            yield running


@pytest.fixture(scope="module")
def page(context, tuning):
    page = context.new_page()
    errors = browser.watched(page)
    page.goto(tuning.url)
    page.wait_for_selector("body[data-ready]")
    yield page
    assert errors == []


def says(page, text):
    browser.until(page, f"document.getElementById('toast').textContent.includes({text!r})")


def opened(page, tuning, name="sticks/ulog/tello_0/log001.ulg"):
    page.click("#reload")
    browser.until(page, "document.querySelectorAll('#logs option').length > 1")
    page.select_option("#logs", name)
    browser.until(page, f"tuning.log && tuning.log.name === {name!r} && !tuning.running")


def searched(page):
    """Starts a search and waits for its end."""
    page.click("#start")
    browser.until(page, "tuning.running")
    browser.until(page, "!tuning.running", 120)
    assert page.is_visible("#found")
    return page.evaluate("tuning.results.done.result")


def test_a_log_is_chosen_and_its_stretch_dragged(page, tuning):
    assert page.is_disabled("#start")
    opened(page, tuning)
    assert page.locator(".chart canvas").count() == 4
    assert page.locator("#axes input:checked").count() == 4
    box = page.locator(".chart[data-axis=pitch] .u-over").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.25 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], y, steps=5)
    page.mouse.up()
    seconds = page.evaluate("tuning.log.seconds")
    for field, share in (("#begin", 0.25), ("#end", 0.75)):
        assert float(page.input_value(field)) == pytest.approx(share * seconds, abs=0.05 * seconds)
    page.fill("#held", "0.5")
    assert page.evaluate("tuning.charts.stretch.held") == 0.5
    page.mouse.dblclick(box["x"] + 0.5 * box["width"], y)
    assert (page.input_value("#begin"), page.input_value("#end")) == ("0", "")


def test_what_the_page_finds_is_what_the_command_finds(page, tuning, tmp_path):
    opened(page, tuning)
    page.uncheck("#axes [value=height]")
    page.uncheck("#axes [value=yaw]")
    page.select_option("#method", "de")
    page.select_option("#model", "published")
    for field, value in (
        ("begin", "1"),
        ("end", "20"),
        ("held", "0.2"),
        ("generations", "60"),
        ("seed", "3"),
    ):
        page.fill(f"#{field}", value)
    found = searched(page)
    command.main(
        [
            "tune",
            str(tuning.log),
            "--axis",
            "pitch,roll",
            "--method",
            "de",
            "--model",
            "published",
            "--from",
            "1",
            "--to",
            "20",
            "--held_out",
            "0.2",
            "--generations",
            "60",
            "--seed",
            "3",
            "--out",
            str(tmp_path),
        ]
    )
    assert found["axes"] == json.loads((tmp_path / "result.json").read_text())["axes"]
    rows = page.locator("#costs tbody tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == ["pitch", "roll"]
    assert float(rows[0].split()[1]) == pytest.approx(found["axes"]["pitch"]["J"], rel=0.01)
    assert "(0.9879)" in page.locator("#gains tbody tr").first.inner_text()
    assert page.locator("#progress .axis").count() == 2
    assert page.locator("#progress progress").first.get_attribute("value") == "60"
    assert (
        sum(value is not None for value in page.evaluate("tuning.charts.charts[2].plot.data[4]"))
        > 100
    )  # held out


def test_gains_are_downloaded_saved_and_copied(page, tuning):
    with page.expect_download() as download:
        page.click("#download")
    wanted = yaml.safe_load(download.value.path().read_text())
    assert set(wanted) == {"pitch", "roll", "delay"}
    page.click("#save")
    says(page, "saved: ")
    assert yaml.safe_load((tuning.runs / "sticks" / "gains.yaml").read_text()) == wanted
    for name in ("tune", "fly"):
        page.click(f"[data-copy={name}command]")
        browser.until(page, f"getSelection().toString().startsWith('xtdrone {name}')")


def test_the_gains_are_flown_and_the_flight_is_ended(page, tuning):
    page.click("#fly")
    browser.until(page, "!document.getElementById('flight').hidden", 120)
    link = page.get_attribute("#flight", "href")
    with urllib.request.urlopen(link.partition("#")[0]) as answer:
        assert b"XTDrone station" in answer.read()
    assert page.is_disabled("#fly")
    page.click("#land")
    browser.until(page, "document.getElementById('land').hidden", 60)
    summary = json.loads((tuning.runs / LATEST / "summary.json").read_text())
    assert summary["ended"] != "unfinished"
    assert not tuning_server.children(tuning.process.pid)


def test_a_search_is_cancelled(page, tuning):
    opened(page, tuning)
    page.fill("#generations", "100000")
    page.click("#start")
    browser.until(page, "document.querySelector('#progress small')?.textContent.includes('left')")
    page.click("#cancel")
    browser.until(page, "!tuning.running")
    says(page, "cancelled")
    assert not page.is_visible("#found") and page.is_enabled("#start")
    page.fill("#generations", "10")


def test_files_are_uploaded_or_refused(page, tuning, tmp_path):
    log = tuning_server.write_log(tmp_path / "flown.csv")
    page.set_input_files("#file", str(log))
    browser.until(page, "tuning.log.name === 'tune_flown/flown.csv'")
    assert page.locator("#axes input:checked").count() == 2
    page.set_input_files(
        "#file", {"name": "notes.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"}
    )
    says(page, "none of the columns")
    page.evaluate("""(() => { const data = new DataTransfer();
        data.items.add(new File(['nothing'], 'image.png'));
        dispatchEvent(new DragEvent('drop', { dataTransfer: data })); })()""")
    says(page, "no log: give a file that ends with")
    assert page.evaluate("tuning.log.name") == "tune_flown/flown.csv"


def test_theme_and_a_phone(page):
    before = page.evaluate("document.documentElement.dataset.theme")
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") != before
    page.set_viewport_size({"width": 390, "height": 844})
    browser.until(page, "tuning.charts.charts.every(({ plot }) => plot.width < 390)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1000, "height": 640})


def test_by_the_keyboard_alone(page, tuning):
    """From the choice of a log to the download, by Tab, arrows, Space and Enter."""
    opened(page, tuning)
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")

    def to(condition, keys=60):
        for _ in range(keys):
            page.keyboard.press("Tab")
            if page.evaluate(f"document.activeElement.matches({condition!r})"):
                return
        raise AssertionError(f"Tab does not reach {condition}")

    to("#logs")
    page.keyboard.press("ArrowDown")
    browser.until(page, "document.getElementById('logs').value === tuning.log.name")
    for axis in ("height", "yaw", "pitch"):
        to(f"#axes [value={axis}]")
        if page.is_checked(f"#axes [value={axis}]"):
            page.keyboard.press("Space")
    to("#axes [value=roll]")
    if not page.is_checked("#axes [value=roll]"):
        page.keyboard.press("Space")
    to("#generations")
    page.keyboard.press("Control+A")
    page.keyboard.type("20")
    page.keyboard.press("Enter")
    browser.until(page, "document.querySelectorAll('#progress .axis').length === 1")
    browser.until(page, "!tuning.running && !document.getElementById('found').hidden", 60)
    to("#download")
    with page.expect_download():
        page.keyboard.press("Enter")


def test_a_later_page_shows_the_same_and_one_without_token_nothing(context, page, tuning):
    other = context.new_page()
    other.goto(tuning.url)
    browser.until(other, "tuning.results.done !== undefined")
    assert other.evaluate("tuning.log.name") == page.evaluate("tuning.log.name")
    other.close()
    stranger = context.new_page()
    stranger.goto(tuning.page.rstrip("/"))
    says(stranger, "token")
    assert stranger.locator("#logs option").count() == 1
    stranger.close()
