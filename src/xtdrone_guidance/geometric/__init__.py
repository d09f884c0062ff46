"""Geometric control as loops of the embedded flight stack: SE(3), and that of Mellinger and Kumar.

The force for the wanted acceleration acts along the body's z axis as that stands now,
f = F . R e3. The torque is M = J (-k_R e_R - k_w (w - w_d)) + w x J w with the error of attitude
e_R = (R_d^T R - R^T R_d)^v / 2: attitude_control.py writes the body rates w_d - k_R / k_w e_R, and
rate_control.py follows them without an integral, so that the loops together are that law.
SE(3) turns with the yaw rate, w_d = R^T (0, 0, r); Mellinger's w_d also is that of the trajectory,
from its jerk, and w x J w is left out. The gains are those of PX4's parameters, which also
integrate the velocity error; the torque has no integral.

T. Lee, M. Leok, N. H. McClamroch: Geometric Tracking Control of a Quadrotor UAV on SE(3) (2010).
F. Goodarzi, D. Lee, T. Lee: Geometric Nonlinear PID Control of a Quadrotor UAV on SE(3) (2013).
D. Mellinger, V. Kumar: Minimum Snap Trajectory Generation and Control for Quadrotors (2011).
"""
