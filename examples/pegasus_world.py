"""A world in code with people who walk through it: Pegasus' example of people.

    python examples/pegasus_world.py

Two people walk to and fro; a quadrotor follows the first at a distance and is told of contacts.
"""

import numpy as np

import xtdrone as xd

PEOPLE = {"ann": ((-3.0, 0.0), (1.0, 0.0)), "bob": ((2.0, -3.0), (0.0, 1.0))}  # start, way
TALL = 1.75  # [m]
yard = xd.Scene(name="yard", solids=(
    xd.Box(name="house", size=(6.0, 4.0, 3.0), pos=(0.0, 8.0, 1.5), colour=(0.7, 0.6, 0.5)),
    xd.Box(name="wall", size=(0.3, 10.0, 2.0), pos=(-6.0, 0.0, 1.0)),
    xd.Sphere(name="bush", radius=0.8, pos=(4.0, -4.0, 0.6), colour=(0.2, 0.5, 0.2))))


def walk(t, start, way, pace=1.2, length=8.0):
    """Position of a person who walks to and fro at a steady pace [m], [s]."""
    along = length - abs((pace * t) % (2.0 * length) - length)
    return (*(np.array(start) + along * np.array(way)), 0.5 * TALL)


with xd.Simulation(xd.Scenario(vehicles="iris@-3,-3", world=yard, gps="rtk")) as sim:
    for name, (start, way) in PEOPLE.items():
        sim.insert(xd.Cylinder(name=name, radius=0.25, length=TALL, pos=walk(0.0, start, way)))

    @sim.on_step(period=0.04)
    def move(t, state, sensors):
        """The next step of everyone."""
        for name, (start, way) in PEOPLE.items():
            sim.place(name, walk(t, start, way))

    sim.on_contact(lambda t, one, other: print(f"{t:.2f} s: {one} touches {other}"))
    sim.arm()
    sim.takeoff(2.5)
    distances = []
    for _ in range(80):
        ann = sim.where("ann")
        sim.goto(ann + (0.0, -3.0, 1.6), wait=False)
        sim.run(0.25)
        distances.append(np.linalg.norm(sim.state.pos[0] - ann))
    print(f"followed ann at {min(distances):.1f} to {max(distances):.1f} m")
