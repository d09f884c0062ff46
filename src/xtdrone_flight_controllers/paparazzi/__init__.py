"""Paparazzi on flight controllers, over its hardware-in-the-loop messages."""
