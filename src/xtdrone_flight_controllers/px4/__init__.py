"""Real PX4, software in the loop."""
