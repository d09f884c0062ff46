"""The manoeuvre of bench_physics.py in rotorpy; runs in a virtual environment of its own.

Reads JSON from standard input: the vehicle in rotorpy's parameters, rotor speeds (T, R) and fleet
sizes. Prints JSON: seconds per vehicle-step of each size, and the final state of vehicle 0.
"""

import json
import sys
import time
from importlib import metadata

import numpy as np
from rotorpy.vehicles.multirotor import Multirotor


def main():
    """Flies the manoeuvre with each fleet size."""
    task = json.load(sys.stdin)
    vehicle = task["vehicle"]
    vehicle["rotor_pos"] = {str(k): np.array(p) for k, p in enumerate(vehicle["rotor_pos"])}
    vehicle["rotor_directions"] = np.array(vehicle["rotor_directions"])
    speeds = np.array(task["speeds"])
    multirotor = Multirotor(vehicle)
    multirotor.g = task["gravity"]
    multirotor.weight = np.array([0.0, 0.0, -vehicle["mass"] * task["gravity"]])
    start = {
        "x": np.array(task["start"]),
        "v": np.zeros(3),
        "q": np.array([0.0, 0.0, 0.0, 1.0]),
        "w": np.zeros(3),
        "wind": np.zeros(3),
        "rotor_speeds": speeds[0].copy(),
    }
    cost = {}
    for n, steps in task["sizes"]:
        states = [dict(start) for _ in range(n)]
        multirotor.step(states[0], {"cmd_motor_speeds": speeds[0]}, task["dt"])
        begin = time.perf_counter()
        for k in range(steps):
            control = {"cmd_motor_speeds": speeds[k]}
            for i in range(n):
                states[i] = multirotor.step(states[i], control, task["dt"])
        cost[n] = (time.perf_counter() - begin) / (n * steps)
        if steps == len(speeds):
            end = states[0]
    print(
        json.dumps(
            {
                "version": metadata.version("rotorpy"),
                "cost": cost,
                "end": end["x"].tolist(),
                "attitude": end["q"].tolist(),
            }
        )
    )


if __name__ == "__main__":
    main()
