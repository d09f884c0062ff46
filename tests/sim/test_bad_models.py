"""Vehicle files that make no sense: one line says what was given, what is allowed, what to do."""

import pytest

import jointed
from xtdrone_core.command import main

BASE = jointed.link("base") + jointed.SENSORS
ARM = jointed.link("arm", "0.2 0 0 0 0 0", 0.1, (1e-4, 1e-4, 1e-4))
HINGE = jointed.joint("hinge", "base", "arm", "0 1 0")
WING = (
    '<plugin name="wing" filename="libLiftDragPlugin.so"><link_name>base</link_name>'
    "<area>0</area><cla>4.7</cla><air_density>1.2041</air_density><cp>0 0 0</cp>"
    "<forward>1 0 0</forward><upward>0 0 1</upward></plugin>"
)
FLAT = jointed.link("tyre").replace(
    "<box><size>0.05 0.05 0.05</size></box>",
    "<cylinder><radius>0</radius><length>0.1</length></cylinder>",
)
BAD = {
    "a wing without area": (BASE + WING, "<area> of wing 'wing' is 0: give a number above 0"),
    "a motor without axis": (
        (BASE + jointed.rotor(0, "base", "0 0 0.1")).replace("<axis><xyz>0 0 1</xyz></axis>", ""),
        "joint 'rotor_0_joint' has no <axis> with <xyz>: give the direction that it turns about",
    ),
    "a loop of joints": (
        BASE
        + ARM
        + HINGE
        + HINGE.replace("hinge", "strut")
        + jointed.channels(jointed.channel(0, "hinge")),
        "joint 'hinge' cannot move: other joints hold its two links together; take out one of "
        "this loop",
    ),
    "inertia of zero": (
        jointed.link("base", inertia=(0, 0, 0)) + jointed.SENSORS,
        "inertia of link 'base' is not positive: every principal moment must be above 0",
    ),
    "a 17th output": (
        BASE + ARM + HINGE + jointed.channels(jointed.channel(16, "hinge")),
        "<input_index> is 16: the autopilot has 16 outputs, give 0 to 15",
    ),
    "a wheel without radius": (
        BASE
        + FLAT
        + jointed.joint("axle", "base", "tyre", "0 1 0", kind="continuous")
        + jointed.channels(jointed.channel(0, "axle", 30.0, control="velocity")),
        "the radius of wheel 'axle' is 0: give metres above 0",
    ),
    "a tilting joint without limits": (
        jointed.TILT.replace("<limit><lower>-1.6</lower><upper>1.6</upper></limit>", ""),
        "joint 'tilt' tilts a rotor and has no end: give <lower> and <upper> in its <limit> [rad]",
    ),
}


@pytest.mark.parametrize("command", [["vehicle", "show"], ["fly", "square", "--vehicle"]])
@pytest.mark.parametrize("body, line", BAD.values(), ids=BAD)
def test_a_bad_model_ends_with_one_line(tmp_path, capfd, monkeypatch, command, body, line):
    monkeypatch.chdir(tmp_path)  # run folders
    path = tmp_path / "model.sdf"
    path.write_text(
        f'<sdf version="1.7" xmlns:xtdrone="urn:xtdrone"><model name="m">{body}</model></sdf>'
    )
    assert main([*command, str(path)]) != 0
    (said,) = (text for text in capfd.readouterr().err.splitlines() if text.startswith("xtdrone"))
    assert "model.sdf:" in said and said.endswith(line)
