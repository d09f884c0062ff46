"""Incremental nonlinear dynamic inversion (INDI) as loops of the embedded flight stack.

INDI commands the actuators' present state plus the increment that turns the measured acceleration
into the wanted one, u = u_f + G^+ (v - [dw_f; T_f]) in equation (1) of dronesim, with all signals
behind the same filter. With the torque and force of the actuators known from their lag, the same
law reads: the wanted wrench, less the filtered difference of the wrench that the motion shows and
that which the actuators exert. That difference is the disturbance: wind, drag, a payload, a worn
rotor, an error of the model. disturbance.py measures it, rate_control.py and velocity_control.py
take it off; the mixer of the flight stack allocates the sum.

E. J. J. Smeur, Q. P. Chu, G. C. H. E. de Croon: Adaptive Incremental Nonlinear Dynamic Inversion
for Attitude Control of Micro Air Vehicles (2016). E. Tal, S. Karaman: Accurate Tracking of
Aggressive Quadrotor Trajectories Using Incremental Nonlinear Dynamic Inversion and Differential
Flatness (2021).
"""
