"""A quadrotor that has lost a rotor keeps its place: it gives its yaw up and spins.

M. W. Mueller, R. D'Andrea: Stability and control of a quadrocopter despite the complete loss of
one, two, or three propellers (2014).
"""
