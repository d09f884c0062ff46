"""Real flight stacks as autopilots of a fleet, a folder each; `common` is what several share."""
