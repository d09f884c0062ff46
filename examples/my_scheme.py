"""A formation scheme of one's own: everybody hears the leader and the two nearest others.

    PYTHONPATH=examples xtdrone formation fly --n 9 --scheme my_scheme:Cohesive
    PYTHONPATH=examples xtdrone fly formation --n 9 --gps rtk --set scheme=my_scheme:Cohesive
"""

import numpy as np

from xtdrone_formation import Follower, Leader


class Talkative(Leader):
    """Communication: who hears whom, here by the distances between the slots."""

    def edges(self, offsets):
        apart = np.linalg.norm(offsets[:, None] - offsets, axis=2)
        near = np.argsort(apart, axis=1, kind="stable")[:, 1:3]  # column 0 is the slot itself
        return np.array(sorted([(i, 0) for i in range(1, len(offsets) + 1)]
                               + [(i, j + 1) for i, row in enumerate(near, 1) for j in row]))


class Cohesive(Follower):
    """Control: keeps the slot beside the leader, and more softly the place among neighbours."""

    leader = Talkative

    def control(self, t_us, own, neighbours):
        pos, vel = self.predict(neighbours)  # by now, from packets that are late or were lost
        lead = neighbours.sender == 0  # one row for each follower, in their order
        beside = neighbours.mean(pos - neighbours.slot) + own.slot - own.pos
        error = pos[lead] + own.slot - own.pos
        return vel[lead] + own.slot_vel + self.parameters.gain * (error + 0.5 * beside)
