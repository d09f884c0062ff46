"""Propellers in axial and oblique flow: thrust, torque, H-force and moments at the hub.

Every model is a run of numbers in one flat array, which its function reads from a place on: so
one kernel flies all of them, in a simulation, in a batch and on a graphics card.
"""
