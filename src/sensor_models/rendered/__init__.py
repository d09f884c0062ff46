"""Sensors that see the scene: cameras, depth cameras, lidars. Each is one module with a SENSOR."""
