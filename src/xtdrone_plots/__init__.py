"""Figures of a run, from its truth, flight logs, events, mission and formations."""
