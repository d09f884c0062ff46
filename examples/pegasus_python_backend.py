"""A quadrotor composed in Python and flown by a class: Pegasus' example of a Python backend.

    python examples/pegasus_python_backend.py

It is saved as SDF, too: xtdrone fly square --vehicle ./mine/model.sdf
"""

import numpy as np

import xtdrone as xd


class Ring(xd.Backend):
    """A circle, by thrust and body rates from the estimate."""

    MEMORY = ("done",)
    period_us = 20_000

    def step(self, t, state, sensors):
        """Set-points of one vehicle."""
        self.done = t > 25.0
        angle = 0.5 * max(t - 5.0, 0.0)
        place = np.array([2.0 * np.cos(angle) - 2.0, 2.0 * np.sin(angle), min(0.6 * t, 2.0)])
        acc = 2.0 * (place - state.pos) - 2.5 * state.vel + (0.0, 0.0, 9.81)
        x, y, z, w = state.quat
        up = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
        turn = 6.0 * np.cross(up, acc / np.linalg.norm(acc))  # in the world
        vector, scalar = np.array([x, y, z]), w
        out = xd.SetPoints.empty(1)
        out.rates[0] = turn + 2 * np.cross(np.cross(turn, vector) + scalar * turn, vector)
        out.force[0, 2] = self.vehicle.mass * (acc @ up)
        return out


mine = xd.Multirotor(
    name="mine",
    frame=xd.Frame(mass=1.1, size=(0.25, 0.25, 0.1)),
    rotors=xd.rotors_in_x(0.22, curve=xd.QuadraticThrust(motor_constant=5e-6)),
    effects=(xd.LinearDrag(coefficients=(0.5, 0.3, 0.0)),),
    sensors=(xd.Imu(preset="bmi088"), xd.Magnetometer(), xd.Barometer(), xd.Gps(preset="rtk")),
    backend=Ring,
)
print("saved as", mine.to_sdf("mine/model.sdf"))
radii = []
with xd.Simulation([mine]) as sim:
    sim.on_step(
        lambda t, state, sensors: radii.append(np.hypot(*(state.pos[0, :2] + (2.0, 0.0)))),
        period=0.1,
    )
    sim.run()
    print(f"landed after {sim.time:.1f} s; at most {max(radii):.2f} m from the middle")
