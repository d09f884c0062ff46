"""Launch files are written as roslaunch reads them; the tests that start them need ROS."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

LAUNCH = Path(__file__).resolve().parents[2] / "launch"


@pytest.mark.parametrize("file", sorted(LAUNCH.glob("*.launch")), ids=lambda file: file.name)
def test_an_expression_is_a_whole_attribute(file):
    """roslaunch refuses $(eval ...) beside other words, and with it the whole file."""
    for element in ET.parse(file).getroot().iter():
        for name, value in element.attrib.items():
            if "$(eval" in value:
                assert value.startswith("$(eval") and value.endswith(")"), f"{element.tag} {name}"
                assert value.count("$(") == 1, f"{element.tag} {name}"
