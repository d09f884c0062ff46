"""Each control of the page has a test that uses it: a new one without a test fails here."""

import ast
import re
from pathlib import Path

import pytest
from controls import CONTROLS, FOUND

from xtdrone_web.frame import STATIC

TESTS = Path(__file__).parent
FUNCTIONS = {
    node.name: ast.unparse(node)
    for path in (*TESTS.glob("test_web_*.py"), TESTS / "test_replay_page.py")
    for node in ast.parse(path.read_text()).body
    if isinstance(node, ast.FunctionDef)
}


@pytest.mark.parametrize("control", CONTROLS)
def test_the_test_of_a_control_is_there_and_names_it(control):
    name, text = CONTROLS[control]
    assert text.replace('"', "'") in FUNCTIONS[name].replace('"', "'")


def test_every_id_of_a_control_is_in_the_list():
    page = "".join(
        path.read_text()
        for path in (STATIC / "index.html", *sorted((STATIC / "js" / "panels").glob("*.js")))
    )
    ids = {
        f"#{found}"
        for found in re.findall(
            r'<(?:button|input|select|textarea|canvas)\b[^>]*?\bid="([\w-]+)"', page
        )
    }
    assert ids - {"#hud", "#sticksview"} <= CONTROLS.keys()  # these two only show


@pytest.mark.long
def test_the_page_has_the_controls_of_the_list_and_no_other(page):
    page.evaluate("station.panel.params.params.length || station.panel.params.load()")
    found = set(page.evaluate(FOUND))
    assert found - CONTROLS.keys() == set()
    on_demand = {"#params input", "#plots button", "#inforce button"}
    assert CONTROLS.keys() - found <= on_demand
