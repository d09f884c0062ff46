"""Crash detection: a matrix of crashes, each called what it is, and landings that are none."""

import numpy as np
import pytest

from xtdrone_core import ARM, KEEP, Mode, Scenario, SetPoints, VehicleSpec
from xtdrone_core.agent import BaseAgent
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.resources import world_sdf
from xtdrone_sim.observers.crashes import HARD
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle

G = 9.80665
TYPES = ("iris", "typhoon_h480", "heavy_lifter")
DROPS = (1.0, 1.7, 2.5, 4.0, 7.0)  # speeds at the ground [m/s]
HEIGHT = 5.0  # of the flights that end in a crash [m]
BEGIN_US, END_US = 18_000_000, 32_000_000  # of what makes them crash; of the simulation
BESIDE = 12.0  # south of the slope, where the take-off is [m]
LANE = 60.0  # from one type to the next [m]
# What becomes of a vehicle: where it starts, what it is told, and what it is then called.
CASES = {
    "rotor": (0.0, (0, 0, 0), "ground"),
    "flip": (10.0, (0, 0, 0), "tipped"),
    "wall": (20.0, (3, 0, 0), "obstacle"),
    "tree": (40.0, (3, 0, 0), "obstacle"),
    "east": (60.0, (1.5, 0, 0), "vehicle"),
    "west": (68.0, (-1.5, 0, 0), "vehicle"),
    "slope": (92.0, "land", "tipped"),
}
ROTORS_LOST = {"iris": (2,), "typhoon_h480": (2, 4), "heavy_lifter": (2,)}


def solid(name, shape, pose):
    """A static model of one shape."""
    return (
        f'<model name="{name}"><static>true</static><pose>{pose}</pose><link name="link">'
        f'<collision name="collision"><geometry>{shape}</geometry></collision></link></model>'
    )


def world_with(path, models):
    """The empty world with further models, as a file."""
    text = world_sdf("empty").read_text()
    path.write_text(
        text.replace('<model name="ground_plane">', models + '<model name="ground_plane">')
    )
    return str(path)


class Pilot(BaseAgent):
    """Takes vehicles off that have a velocity; from BEGIN_US on each flies what it is told."""

    MEMORY = ()

    def __init__(self, told):
        """told: by vehicle a velocity (3,), "land", or None for one that stays on the ground."""
        self._told, self._home = told, None
        self._out = SetPoints.empty(len(told))
        self._flies = np.array([each is not None for each in told])
        self._hover = np.array(
            [(0.0, BESIDE, 2.0 * HEIGHT) if each == "land" else (0.0, 0.0, HEIGHT) for each in told]
        )

    def step(self, t_us, estimates):
        """Set-points of the vehicles that fly."""
        out = self._out
        out.clear()
        if self._home is None:
            if not estimates.ready[self._flies].all():
                return out
            self._home = estimates.pos.copy()
        out.pos[self._flies] = (self._home + self._hover)[self._flies]
        idle = self._flies & ~estimates.armed
        if t_us % 500_000 == 0 and t_us < BEGIN_US:
            out.mode[idle], out.arm[idle] = Mode.OFFBOARD, ARM
        if t_us >= BEGIN_US:
            out.arm[:] = KEEP
            for i, told in enumerate(self._told):
                if isinstance(told, str):
                    out.mode[i] = Mode.LAND if t_us == BEGIN_US else KEEP
                elif told is not None and any(told):
                    out.pos[i], out.vel[i] = np.nan, told
        return out


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    """All crashes in one simulation: (its crashes by vehicle, its simulation)."""
    specs, told, models, lost, drops = [], [], "", [], {}
    for k, kind in enumerate(TYPES):
        y = LANE * k
        models += solid(f"wall_{k}", "<box><size>0.5 10 20</size></box>", f"27 {y} 5 0 0 0")
        models += solid(
            f"tree_{k}",
            "<cylinder><radius>0.3</radius><length>20</length></cylinder>",
            f"47 {y} 5 0 0 0",
        )
        models += solid(f"slope_{k}", "<box><size>30 10 1</size></box>", f"92 {y} 3 0 -0.7 0")
        for name, (x, how, _) in CASES.items():
            beside = BESIDE if how == "land" else 0.0
            specs.append(VehicleSpec(kind, f"{kind}_{name}", (x, y - beside, 0.0)))
            told.append(how)
        lost += [f"{BEGIN_US * 1e-6}: rotor {kind}_rotor {r} 0" for r in ROTORS_LOST[kind]]
        lost += [
            f"1: rotor {kind}_flip {r} 0"
            for r, rotor in enumerate(load_vehicle(kind).rotors)
            if rotor.pos[1] < -0.01
        ]
        for n, speed in enumerate(DROPS):
            drops[len(specs)] = speed
            specs.append(VehicleSpec(kind, f"{kind}_drop_{n}", (120.0 + 6 * n, y, 0.0)))
            told.append(None)
    world = world_with(tmp_path_factory.mktemp("crashes") / "crashes.world", models)
    scenario = Scenario(
        vehicles=tuple(specs),
        speed=0.0,
        log="none",
        gps="rtk",
        world=world,
        disturbances="; ".join(lost),
    )
    simulation = Simulation(scenario, links=False, agent=Pilot(told))
    try:
        simulation.run(2_000_000)
        for i, speed in drops.items():
            state = np.zeros(13)
            state[:3] = simulation.state.pos[i] + [0, 0, speed**2 / (2 * G)]
            state[3:7] = simulation.state.quat[i]
            simulation.engine.place(i, state)
        simulation.run(END_US)
    finally:
        simulation.close()
    return {crash.vehicle: crash for crash in simulation.crashes}, simulation


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", TYPES)
def test_a_crash_is_called_what_it_is(matrix, kind, name):
    crashes, _ = matrix
    crash = crashes[f"{kind}_{name}"]
    assert crash.kind == CASES[name][2]
    k = TYPES.index(kind)
    assert crash.other == {
        "wall": f"wall_{k}",
        "tree": f"tree_{k}",
        "slope": f"slope_{k}",
        "east": f"{kind}_west",
        "west": f"{kind}_east",
    }.get(name, "ground_plane")


@pytest.mark.slow
@pytest.mark.parametrize("speed", DROPS)
@pytest.mark.parametrize("kind", TYPES)
def test_a_hard_touchdown_is_a_crash_with_its_speed(matrix, kind, speed):
    crashes, _ = matrix
    crash = crashes.get(f"{kind}_drop_{DROPS.index(speed)}")
    if speed < HARD:
        assert crash is None
    else:
        assert crash.kind == "ground" and crash.speed == pytest.approx(speed, abs=0.25)
        assert crash.tilt < 1.0


class UpAndDown(FlightAgent):
    """Take-off to 2 m, 1 s there, landing."""

    def begin(self, t_us, estimates):
        """Starts the clock."""
        self._until_us = t_us + 1_000_000

    def fly(self, t_us, estimates, out):
        """Holds the place."""
        out.pos[:] = self.home + [0.0, 0.0, self.height]
        return t_us >= self._until_us


@pytest.mark.slow
@pytest.mark.long
def test_ordinary_landings_in_wind_are_no_crashes(tmp_path):
    # Wind grows from 0 in the west to 8 m/s in the east; half of the vehicles land on a slope.
    columns, rows, spacing, slope = 20, 10, 4.0, 0.15
    x = np.array([-10.0, 0.0, spacing * columns, spacing * columns + 10.0])
    velocity = np.zeros((4, 2, 2, 3))
    velocity[..., 0] = np.array([0.0, 0.0, 8.0, 8.0])[:, None, None]
    np.savez(
        tmp_path / "wind.npz",
        x=x,
        y=np.array([-200.0, 200.0]),
        z=np.array([-50.0, 100.0]),
        velocity=velocity,
    )
    world = world_with(
        tmp_path / "slope.world",
        solid("slope", "<box><size>200 60 2</size></box>", f"40 40 0 {slope} 0 0"),
    )
    specs = []
    for k in range(columns * rows):
        column, row = k % columns, k // columns
        y = spacing * row if row < rows // 2 else spacing * row + 20.0
        z = max((y - 40.0) * np.tan(slope) + 1.0 / np.cos(slope), 0.0) if row >= rows // 2 else 0.0
        specs.append(VehicleSpec(TYPES[k % 3], f"v_{k}", (spacing * column, y, z)))
    scenario = Scenario(
        vehicles=tuple(specs),
        speed=0.0,
        log="none",
        gps="rtk",
        world=world,
        wind=f"field={tmp_path / 'wind.npz'} dryden=4",
    )
    simulation = Simulation(scenario, links=False, agent=UpAndDown(len(specs), 2.0))
    try:
        simulation.run(34_000_000)
    finally:
        simulation.close()
    assert simulation.crashes == [] and simulation.collisions == []
    assert simulation.landed.mean() > 0.98
