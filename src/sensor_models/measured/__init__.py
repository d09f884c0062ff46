"""Sensors that measure the state of their vehicle, a module each; see sensor.Sensor."""
