"""Vehicles with wheels and floats for tests, and how they move."""

import numpy as np

import jointed
from xtdrone_core import FleetModel
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.world import load_world

STEP_US = 4000
RADIUS, TRACK, BASE = 0.1, 0.5, 0.8  # of the wheels, between left and right, front and rear [m]
MASS = 20.0  # of a rover without its wheels [kg]


def wheel(name, x, y, parent="base", mu=1.0, z=RADIUS, axis="0 1 0"):
    """A wheel on a link, with the joint `name`."""
    tyre = (
        f'<collision name="t"><pose>0 0 0 1.5707963 0 0</pose><geometry><cylinder><radius>'
        f"{RADIUS}</radius><length>0.04</length></cylinder></geometry><surface><friction><ode>"
        f"<mu>{mu}</mu><mu2>{mu}</mu2></ode></friction></surface></collision>"
    )
    return (
        f'<link name="{name}_link"><pose>{x} {y} {z} 0 0 0</pose><inertial><mass>0.2</mass>'
        "<inertia><ixx>1e-3</ixx><iyy>1e-3</iyy><izz>1e-3</izz></inertia></inertial>"
        f"{tyre}</link>" + jointed.joint(name, parent, f"{name}_link", axis)
    )


def drive(number, joint, time_constant=0.0):
    """A channel of 100 rad/s that drives a wheel."""
    return jointed.channel(
        number,
        joint,
        100.0,
        control="velocity",
        own=f"<xtdrone:wheel><time_constant>{time_constant}</time_constant></xtdrone:wheel>",
    )


def chassis(more=""):
    """The base of a rover, its centre of gravity between the wheels at the height of the hubs."""
    return jointed.link("base", f"0 0 {RADIUS} 0 0 0", MASS, (0.5, 1.0, 1.2)) + more


def rover(tmp_path, mu=1.0, more=""):
    """Four driven wheels: channels 0 and 1 on the left, 2 and 3 on the right."""
    places = {"lf": (1, 1), "lr": (-1, 1), "rf": (1, -1), "rr": (-1, -1)}
    body = chassis(more) + "".join(
        wheel(name, x * BASE / 2, y * TRACK / 2, mu=mu) for name, (x, y) in places.items()
    )
    return jointed.write(
        tmp_path, body + jointed.channels(*(drive(k, name) for k, name in enumerate(places)))
    )


class Ride:
    """One vehicle in the embedded engine, without sensors and flight stack."""

    def __init__(self, vehicle, world="empty", start=None, altitude=0.0):
        """At rest on the ground or water; start: (13,) another state of its base."""
        self.world = load_world(world)
        self.engine = EmbeddedEngine(self.world, (jointed.spec(vehicle, altitude),), (vehicle,))
        self.stage = ActuatorStage(
            FleetModel.of([vehicle]),
            water=self.world.water,
            water_weight=self.world.water_density * self.world.gravity,
        )
        self.state = self.engine.state
        self.rows, self.t_us = [], 0
        if start is not None:
            self.engine.place(0, np.asarray(start, dtype=float))

    def go(self, seconds, *commands):
        """Applies commands of the actuators; returns the states (K, 13) of this time."""
        first = len(self.rows)
        given, s = np.array([commands], dtype=float), self.state
        for _ in range(round(seconds * 1e6 / STEP_US)):
            wrench = self.stage.step(given, s, STEP_US, self.t_us)
            self.t_us += STEP_US
            self.engine.step(wrench, self.stage.joint_targets, STEP_US)
            self.rows.append(np.concatenate([s.pos[0], s.quat[0], s.vel[0], s.ang_vel[0]]))
        return np.array(self.rows[first:])
