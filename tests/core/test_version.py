"""One version stands in the package, the citation, the packages of ROS and the changelog."""

import re

from xtdrone_core import resources

ROOT = resources.root()


def found(pattern, file):
    match = re.search(pattern, (ROOT / file).read_text(), re.MULTILINE)
    assert match, file
    return match[1]


def test_the_version_is_the_same_everywhere():
    version = found(r'^version = "(.*)"$', "pyproject.toml")
    packages = sorted((ROOT / "src").glob("xtdrone*/package.xml"))
    assert len(packages) > 15
    assert {found(r"<version>(.*)</version>", path) for path in packages} == {version}
    assert found(r"^version: (.*)$", "CITATION.cff") == version
    assert found(r"^## (\d[.\d]*) \(", "CHANGELOG.md") == version  # the newest that is released


def test_the_release_has_a_date():
    dated = found(r"^## \d[.\d]* \((\d{4}-\d\d-\d\d)\)$", "CHANGELOG.md")
    assert found(r"^date-released: (.*)$", "CITATION.cff") == dated


def test_what_a_release_tells_is_one_page():
    text = (ROOT / "CHANGELOG.md").read_text()
    released = re.split(r"^## ", text, flags=re.MULTILINE)[2]
    assert len(released.splitlines()) < 80
