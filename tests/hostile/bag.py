"""Bags: of a fleet's flight, as `formation view` reads them, and of a camera, as `slam import`."""

import importlib.util
import shutil
from pathlib import Path

import numpy as np

from .common import Kind, Nonsense, mutated_bytes

_CAMERA = """cam{0}:
  T_cam_imu: [[1.0, 0.0, 0.0, {1}], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0, 0, 0, 1.0]]
  camera_model: pinhole
  distortion_coeffs: [0.0, 0.0, 0.0, 0.0]
  distortion_model: radtan
  intrinsics: [30.0, 30.0, 16.0, 12.0]
  resolution: [32, 24]
  rostopic: /cam{0}/image_raw
"""
_IMU = """gyroscope_noise_density: 0.001
gyroscope_random_walk: 0.0001
accelerometer_noise_density: 0.01
accelerometer_random_walk: 0.001
rostopic: /imu0
update_rate: 200.0
"""
_POSE, _TWIST, _IMAGE, _READING = (
    f"{package}/msg/{name}"
    for package, name in (
        ("geometry_msgs", "PoseStamped"),
        ("geometry_msgs", "TwistStamped"),
        ("sensor_msgs", "Image"),
        ("sensor_msgs", "Imu"),
    )
)


def _bag(path: Path, rows) -> bytes:
    """A bag of (topic, type, time [us], message as bytes)."""
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_typestore

    store, connections = get_typestore(Stores.ROS1_NOETIC), {}
    with Writer(path) as writer:
        for topic, kind, t_us, data in rows:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=store)
            writer.write(connections[topic], 1000 * t_us, data)
    return path.read_bytes()


class KIND(Kind):
    """Bytes of a whole bag, damaged."""

    per_fork = 1000

    def missing(self):
        """As of Kind."""
        lacking = [name for name in ("rosbags", "cv2") if importlib.util.find_spec(name) is None]
        return f"{lacking[0]} is not installed" if lacking else ""

    def prepare(self):
        """Imports the readers."""
        import xtdrone_formation.evaluation.recordings  # noqa: F401
        import xtdrone_slam.datasets.importing  # noqa: F401

    def start(self, folder):
        """Makes the bags."""
        from xtdrone_mavros import ros_serialisation as ros

        t = [20_000 * k for k in range(1, 30)]
        level, still = (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
        fleet = [
            (f"/iris_{i}/mavros/local_position/{name}", kind, t_us, data)
            for t_us in t
            for i in range(2)
            for name, kind, data in (
                ("pose", _POSE, ros.pose_stamped(t_us, "map", (i, 0, 1), level)),
                ("velocity_local", _TWIST, ros.twist_stamped(t_us, "map", still, still)),
            )
        ]
        image = (
            (24).to_bytes(4, "little")
            + (32).to_bytes(4, "little")
            + ros.text("mono8")
            + bytes(1)
            + (32).to_bytes(4, "little")
            + (768).to_bytes(4, "little")
            + bytes(768)
        )
        camera = [
            row
            for t_us in t
            for row in (
                ("/cam0/image_raw", _IMAGE, t_us, ros.header(t_us, "cam") + image),
                ("/cam1/image_raw", _IMAGE, t_us, ros.header(t_us, "cam") + image),
                ("/imu0", _READING, t_us, ros.header(t_us, "imu") + np.zeros(37).tobytes()),
                ("/truth", _POSE, t_us, ros.pose_stamped(t_us, "map", (1e-6 * t_us, 0, 1), level)),
            )
        ]
        self._bags = {
            "fleet": _bag(folder / "fleet.bag", fleet),
            "camera": _bag(folder / "camera.bag", camera),
        }
        (folder / "chain.yaml").write_text("".join(_CAMERA.format(k, -0.1 * k) for k in range(2)))
        (folder / "imu.yaml").write_text(_IMU)
        (folder / "bags").mkdir()
        for name in self._bags:  # as they are, they are read
            self.try_one((name, self._bags[name]))

    def make(self, rng, index):
        """Which bag, and its bytes."""
        name = rng.choice(list(self._bags))
        return name, mutated_bytes(rng, self._bags[name])

    def try_one(self, value):
        """Reads it."""
        from xtdrone_core.errors import XtdroneError
        from xtdrone_formation.evaluation import recordings
        from xtdrone_slam.datasets.importing import import_bag

        name, data = value
        path = Path("bags") / "one.bag"
        path.write_bytes(data)
        if name == "fleet":
            motion = recordings.read(".", "rosbag")
            if not (np.isfinite(motion.pos).all() and np.isfinite(motion.vel).all()):
                raise Nonsense("positions or velocities are not finite")
            return
        try:
            import_bag(path, "chain.yaml", "imu.yaml", "/truth", Path("made"))
        except XtdroneError:
            raise
        finally:
            shutil.rmtree("made", ignore_errors=True)
