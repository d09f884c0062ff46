"""A simulation for each module, and one browser for all tests of the page."""

import pytest

import browser
from web_client import Client
from web_simulation import serving

PICTURES = 8  # a second, at most: the tests read what the page says
OPTIONS = ("--vehicles", "iris@0,0; iris@3,0; iris@0,3")


@pytest.fixture(scope="module")
def station(tmp_path_factory):
    """`xtdrone sim --web true` with three vehicles: url, watch_url, control, folder."""
    with serving(tmp_path_factory.mktemp("web"), *OPTIONS) as running:
        yield running


@pytest.fixture(scope="session")
def context(tmp_path_factory):
    if why := browser.missing():
        pytest.skip(why)
    with browser.browser(
        tmp_path_factory.mktemp("browser"), (1000, 640), accept_downloads=True
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def page(context, station):
    """The pilot's page."""
    page, errors = browser.opened(context, station.url, PICTURES)
    page.evaluate("station.pace.choose('0')")
    yield page
    assert errors == []


@pytest.fixture
def connect(station):
    clients = []

    def open_one(token=None, **headers):
        clients.append(Client(station.watch_url, token, **headers))
        return clients[-1]

    yield open_one
    for client in clients:
        client.close()
