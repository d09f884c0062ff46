"""Model predictive control as a Python backend, with CasADi: round a mast to a goal.

pip install .[mpc]
python examples/mpc_backend.py
"""

import casadi as ca
import numpy as np

import xtdrone as xd

MAST, CLEAR = np.array([5.0, 0.2]), 1.2  # its place, and the distance to keep [m]
GOAL = np.array([10.0, 0.0, 2.0])
STEPS, DT, AHEAD = 20, 0.1, 3  # horizon [s], and the step that is asked for
FASTEST, MAX = 3.0, 4.0  # [m/s], [m/s^2]


class Mpc(xd.Backend):
    """Plans a point mass over two seconds, every tenth of one, and asks for a step of the plan."""

    MEMORY = ("done", "guess")
    period_us = round(DT * 1e6)

    def prepare(self):
        """The optimisation problem, once."""
        self.opti = ca.Opti()
        self.x = self.opti.variable(6, STEPS + 1)  # position, velocity
        self.u = self.opti.variable(3, STEPS)  # acceleration
        slack, self.now = self.opti.variable(STEPS), self.opti.parameter(6)
        pos, vel = self.x[:3, :], self.x[3:, :]
        self.opti.subject_to(self.x[:, 0] == self.now)
        for k in range(STEPS):
            mean = vel[:, k] + 0.5 * DT * self.u[:, k]
            self.opti.subject_to(pos[:, k + 1] == pos[:, k] + DT * mean)
            self.opti.subject_to(vel[:, k + 1] == vel[:, k] + DT * self.u[:, k])
            self.opti.subject_to(ca.sumsqr(pos[:2, k + 1] - MAST) + slack[k] >= CLEAR**2)
        self.opti.subject_to(self.opti.bounded(-FASTEST, ca.vec(vel[:, 1:]), FASTEST))
        self.opti.subject_to(self.opti.bounded(-MAX, ca.vec(self.u), MAX))
        self.opti.subject_to(slack >= 0)
        self.opti.minimize(ca.sumsqr(pos - GOAL) + 0.1 * ca.sumsqr(self.u) + 1e3 * ca.sum1(slack))
        self.opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
        self.guess = np.zeros((3, STEPS))

    def step(self, t, state, sensors):
        """Position, velocity and acceleration a little ahead."""
        self.opti.set_value(self.now, np.concatenate([state.pos, state.vel]))
        self.opti.set_initial(self.u, self.guess)
        plan = self.opti.solve()
        x, self.guess[:] = plan.value(self.x), plan.value(self.u)
        self.done = np.linalg.norm(state.pos - GOAL) < 0.3
        out = xd.SetPoints.empty(1)
        out.pos[0], out.vel[0], out.acc[0] = x[:3, AHEAD], x[3:, AHEAD], self.guess[:, AHEAD]
        return out


mast = xd.Cylinder(name="mast", radius=0.3, length=6.0, pos=(*MAST, 3.0))
nearest = []
with xd.Simulation(
    xd.Scenario(vehicles="iris", gps="rtk", world=xd.Scene(solids=(mast,))),
    backends={"iris_0": Mpc()},
) as sim:
    sim.on_step(
        lambda t, state, sensors: nearest.append(np.linalg.norm(state.pos[0, :2] - MAST)),
        period=0.02,
    )
    sim.run()
    print(
        f"at the goal and down after {sim.time:.1f} s; {min(nearest):.2f} m from the mast, "
        f"collisions: {len(sim.collisions)}"
    )
