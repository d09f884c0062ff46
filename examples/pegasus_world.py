"""A world in code with people who walk through it: Pegasus' example of people.

    python examples/pegasus_world.py

Two people walk and a car drives round the yard; a quadrotor follows the first person at a distance
and is told of contacts.
"""

import numpy as np

import xtdrone as xd

yard = xd.Scene(
    name="yard",
    solids=(
        xd.Box(name="house", size=(6.0, 4.0, 3.0), pos=(0.0, 8.0, 1.5), colour=(0.7, 0.6, 0.5)),
        xd.Box(name="wall", size=(0.3, 10.0, 2.0), pos=(-6.0, 0.0, 1.0)),
        xd.Sphere(name="bush", radius=0.8, pos=(4.0, -4.0, 0.6), colour=(0.2, 0.5, 0.2)),
    ),
    actors=(
        xd.Person(name="ann", route=((-3, 0), (5, 0)), way="to_and_fro", speed=1.2),
        xd.Person(name="bob", route=((2, -3), (2, 5)), way="to_and_fro", colour=(0.6, 0.2, 0.2)),
        xd.Car(name="cab", route=((-14, -12), (14, -12), (14, 16), (-14, 16)), speed=6.0),
    ),
)

with xd.Simulation(xd.Scenario(vehicles="iris@-3,-3", world=yard, gps="rtk")) as sim:
    sim.on_contact(lambda t, one, other: print(f"{t:.2f} s: {one} touches {other}"))
    sim.arm()
    sim.takeoff(2.5)
    distances = []
    for _ in range(80):
        ann = sim.where("ann")
        sim.goto(ann + (0.0, -3.0, 2.5), wait=False)
        sim.run(0.25)
        distances.append(np.linalg.norm(sim.state.pos[0] - ann))
    print(f"followed ann at {min(distances):.1f} to {max(distances):.1f} m")
