"""Race tracks: gates in an order, laps, and ghosts of earlier runs."""
