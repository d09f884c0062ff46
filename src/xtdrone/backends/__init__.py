"""Vehicles flown by Python classes: state and sensors in, actuator commands or set-points out."""
