"""Which kernels are compiled before a flight, and by whom."""

import pytest

from xtdrone_core import Scenario
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim import warm_up


@pytest.mark.parametrize(
    "vehicles, options, telemetry, parts",
    [
        ("iris@0,0", {}, False, ["flight"]),
        ("iris@0,0; typhoon_h480@5,0", {}, True, ["flight", "telemetry"]),
        ("iris@0,0", {"wind": "2,0,0"}, False, ["flight", "wind"]),
        ("iris*8", {}, False, ["flight", "fleet"]),
        ("plane@0,0", {}, False, ["flight", "others"]),
        ("standard_vtol@0,0", {}, False, ["flight", "others"]),
        ("boat@0,0", {"world": "lake"}, False, ["flight", "others"]),
        ("iris@0,0", {"rendering": "realistic"}, False, ["flight", "realistic"]),
    ],
)
def test_a_flight_needs_the_parts_of_its_kind_alone(vehicles, options, telemetry, parts):
    assert warm_up.needed(Scenario(parse_vehicles(vehicles), **options), telemetry) == parts


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """An empty cache, and the functions whose call stands for a compilation."""
    called = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def part(name):
        return warm_up.Part(lambda folder: called.append(name), 1)

    monkeypatch.setattr(warm_up, "PARTS", {name: part(name) for name in warm_up.PARTS})
    return called


@pytest.mark.slow
def test_what_is_compiled_is_not_compiled_again(compiled, monkeypatch):
    scenario = Scenario(parse_vehicles("iris@0,0"))
    warm_up.ensure_warm(scenario, telemetry=False)
    warm_up.ensure_warm(scenario, telemetry=False)
    assert compiled == ["flight"] and not warm_up.is_warm()
    warm_up.ensure_warm(scenario, telemetry=True)
    assert compiled == ["flight", "telemetry"]
    warm_up.ensure_warm()
    assert sorted(compiled) == sorted(warm_up.PARTS) and warm_up.is_warm()
    monkeypatch.setattr(warm_up, "state_of_sources", lambda: "changed")
    monkeypatch.setattr(warm_up, "stamp_of_sources", lambda: "changed")
    assert not warm_up.is_warm()


@pytest.mark.slow
@pytest.mark.parametrize("name", warm_up.PARTS)
def test_each_part_calls_its_kernels(name, tmp_path):
    warm_up.PARTS[name].compile(tmp_path / name)


def test_an_assistant_begins_with_the_last_part(compiled, tmp_path, monkeypatch):
    warm_up.assist(["flight", "wind"], str(tmp_path))
    assert compiled == ["wind", "flight"]
