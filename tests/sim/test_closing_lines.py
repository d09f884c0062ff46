"""The table at the end of a flight."""

import pytest

from xtdrone_sim.observers import figures


@pytest.mark.parametrize(
    "known, said",
    [
        (("plot", "view", "sim"), "xtdrone plot latest, xtdrone view latest"),
        (("view",), "xtdrone view latest"),
        ((), ""),
    ],
)
def test_the_table_names_the_commands_that_show_the_flight(monkeypatch, known, said):
    monkeypatch.setattr(figures.registry, "entries", lambda group: known)
    assert figures.commands_that_show("latest") == said
