"""Set-points of flight modes, trajectories, missions and take-off and landing detection."""
