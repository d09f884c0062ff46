"""RotorPy part of bench_sensors.py: one quadrotor climbs 3 m and hovers; prints JSON.

Runs in a virtual environment of its own, which bench_sensors.py creates:

    python rotorpy_hover.py SECONDS RATE
"""

import importlib.metadata
import json
import sys
import time

import numpy as np
from rotorpy.controllers.quadrotor_control import SE3Control
from rotorpy.environments import Environment
from rotorpy.trajectories.hover_traj import HoverTraj
from rotorpy.vehicles.hummingbird_params import quad_params
from rotorpy.vehicles.multirotor import Multirotor

seconds, rate = float(sys.argv[1]), int(sys.argv[2])
environment = Environment(
    vehicle=Multirotor(quad_params),
    controller=SE3Control(quad_params),
    trajectory=HoverTraj(x0=np.array([0.0, 0.0, 3.0])),
    sim_rate=rate,
    safety_margin=None,
)
begin = time.perf_counter()
result = environment.run(
    t_final=seconds, use_mocap=False, terminate=False, plot=False, animate_bool=False, verbose=False
)
wall = time.perf_counter() - begin
print(
    json.dumps(
        {
            "real_time_factor": float(result["time"][-1]) / wall,
            "height": float(result["state"]["x"][-1][2]),
            "version": importlib.metadata.version("rotorpy"),
        }
    )
)
