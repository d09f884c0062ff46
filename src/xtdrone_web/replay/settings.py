"""What the command and the station of replays both know; imports nothing."""

ALIGNMENTS = {"start": "both begin together", "takeoff": "both take off together"}
SLOWEST, FASTEST = 0.1, 16.0  # simulated seconds per second
