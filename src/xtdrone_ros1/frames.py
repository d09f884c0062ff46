"""Fixed frames of a vehicle, such as those of its cameras."""

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_mavros.inputs.fields import quat, xyz

from .messages import Message


class Frames:
    """Fixed frames of a vehicle, as /tf_static tells them."""

    def __init__(self) -> None:
        self._parents: dict[str, tuple[str, np.ndarray, Rotation]] = {}

    def add(self, message: Message) -> None:
        """Takes a tf2_msgs/TFMessage."""
        for row in message.transforms:
            turn = Rotation.from_quat(quat(row.transform.rotation))
            place = np.array(xyz(row.transform.translation))
            self._parents[row.child_frame_id.lstrip("/")] = (
                row.header.frame_id.lstrip("/"), place, turn,
            )  # fmt: skip

    def on_body(self, frame: str) -> tuple[np.ndarray, Rotation] | None:
        """Returns place (3,) [m] and axes of a frame in base_link; None while it is unknown."""
        frame, place, turn = frame.lstrip("/"), np.zeros(3), Rotation.identity()
        for _ in range(len(self._parents) + 1):
            if frame.rpartition("/")[2] == "base_link":
                return place, turn
            if frame not in self._parents:
                return None
            frame, offset, axes = self._parents[frame]
            place, turn = offset + axes.apply(place), axes * turn
        return None
