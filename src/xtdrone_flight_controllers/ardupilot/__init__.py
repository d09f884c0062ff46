"""Real ArduPilot as the autopilot of a fleet, over its JSON interface."""
