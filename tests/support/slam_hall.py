"""A recording of the hall at exact poses of the reference trajectory, without a flight."""

from pathlib import Path

from scipy.spatial.transform import Rotation

from xtdrone_core import FleetState
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim.rendering.sensors import RenderedSensors
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world
from xtdrone_slam.agents.recorder import stereo_calibration
from xtdrone_slam.datasets.dataset import Dataset, DatasetWriter
from xtdrone_slam.flight import trajectories

_PERIOD_US = 80_000


def record_hall(folder: Path, seed: int, begin_s: float, pairs: int) -> Dataset:
    """Renders stereo pairs of the iris_stereo with its noise.

    Args:
        folder: Of the dataset.
        seed: Of the noise.
        begin_s: Where the recording begins on the trajectory [s].
        pairs: Number of pairs, 80 ms apart.
    """
    vehicle = load_vehicle("iris_stereo")
    sensors = RenderedSensors(
        load_world("indoor"), parse_vehicles("iris_stereo@0,0"), [vehicle], seed
    )
    calibration, imu_pos = stereo_calibration(
        next(sensor for sensor in sensors.describe() if sensor["kind"] == "stereo"), vehicle.sensors
    )
    writer, path = DatasetWriter(folder, calibration), trajectories.load("reference")
    state = FleetState.zeros(1, 4)
    try:
        for t_us in range(0, (pairs + 2) * _PERIOD_US, 4000):
            here = path.at(begin_s + t_us * 1e-6)
            turn = Rotation.from_rotvec([0.0, 0.0, here.yaw])
            state.pos[0], state.quat[0] = here.pos, turn.as_quat()
            if t_us % _PERIOD_US == 0:
                writer.truth(t_us, here.pos + turn.apply(imu_pos), turn.as_quat(), here.vel)
            if sensors.due(t_us):
                for reading in sensors.step(state, t_us):
                    writer.images(reading.t_us, reading.data["left"], reading.data["right"])
    finally:
        sensors.close()
        writer.close()
    return Dataset(folder)
