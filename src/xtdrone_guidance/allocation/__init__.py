"""Control allocation by weighted least squares within the actuators' limits.

T. A. Johansen, T. I. Fossen: Control Allocation - A Survey (2013). E. Smeur, D. Hoeppener,
C. De Wagter: Prioritized Control Allocation for Quadrotors Subject to Saturation (2017), whose
active-set method active_set.py has. mixer.py flies it as a part of the embedded flight stack.
"""
