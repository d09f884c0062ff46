"""A formation scheme of your own: each vehicle receives the leader and its two nearest neighbours.

PYTHONPATH=examples xtdrone formation simulate --n 9 --scheme my_scheme:Cohesive
PYTHONPATH=examples xtdrone fly formation --n 9 --set scheme=my_scheme:Cohesive
"""

import numpy as np

from xtdrone_formation import Follower, Leader


class Beacon(Leader):
    """Communication: the graph, here from the distances between the slots."""

    def edges(self, offsets):
        distance = np.linalg.norm(offsets[:, None] - offsets, axis=2)
        near = np.argsort(distance, axis=1, kind="stable")[:, 1:3]  # column 0 is the slot itself
        return np.array(
            sorted(
                [(i, 0) for i in range(1, len(offsets) + 1)]
                + [(i, j + 1) for i, row in enumerate(near, 1) for j in row]
            )
        )


class Cohesive(Follower):
    """Control: keeps the slot relative to the leader and, with less gain, to the neighbours."""

    leader = Beacon

    def control(self, t_us, own, neighbours):
        pos, vel = self.predict(neighbours)  # extrapolated to now from delayed packets
        lead = neighbours.sender == 0  # the leader's packets, one row per follower in their order
        relative = neighbours.mean(pos - neighbours.slot) + own.slot - own.pos
        error = pos[lead] + own.slot - own.pos
        return vel[lead] + own.slot_vel + self.parameters.gain * (error + 0.5 * relative)
