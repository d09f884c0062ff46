"""A system under test live on a flight over ROS, then on recordings of that flight.

The first run is live: images, IMU and truth are received from topics, recorded as a dataset, and
passed to the system in its own process. The other runs use that dataset, without a simulation.
"""

import argparse
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import rospy
from scipy.spatial.transform import Rotation

from sensor_models.ros_messages import topics
from xtdrone_core import ControlError, Scenario
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.scenario import launch_arguments
from xtdrone_core.state import SensorDescription
from xtdrone_mavros.inputs.fields import quat, time_us, xyz
from xtdrone_ros1 import discovery, node
from xtdrone_ros1.messages import Message, ros_class
from xtdrone_sim.vehicles.sdf import load_vehicle

from ..agents.recorder import stereo_calibration
from ..benchmark import adapters, execution, plan, runner
from ..benchmark.channel import Channel
from ..benchmark.live import LiveRun
from ..benchmark.session import Session
from ..datasets.dataset import Dataset, DatasetWriter
from ..errors import SlamError
from ..evaluation import results
from ..flight.options import FlightOptions
from .flight_launch import FlightLaunch
from .images import subscribe_images, subscribe_imu

_SILENCE_S = 20.0  # wall time without a message after which a flight counts as ended [s]
_STATUS_S = 10.0  # wall time between two status lines [s]


def run(args: argparse.Namespace) -> int:
    """Runs the node from start to end; returns the exit status of the report.

    Raises:
        SlamError: An option is not allowed, or a flight or a run cannot be started.
        ControlError: The simulation does not answer.
    """
    launch_arguments.check()
    node.require_master()
    node.start("slam_benchmark", disable_rostime=True)
    options = FlightOptions(
        args.world, args.trajectory, args.seed, args.light, args.texture, args.vehicle, args.gps
    )
    choice = plan.parse_system(args.system, shlex.split(args.set))
    adapter = adapters.load(choice.name, **choice.parameters)
    adapters.reject_depth(adapter)
    channel = Channel(args.bandwidth, args.loss)
    with FlightLaunch(options, args) as launch:
        live = LiveBenchmark(launch.connect(), adapter, choice.label, options)
        live.fly(channel, {"bandwidth": args.bandwidth, "loss": args.loss})
        launch.await_landing()
    if args.runs == 1:
        flights = results.load(live.folder)
        return execution.conclude(live.folder, f"SLAM benchmark {choice.label}", flights)
    dataset = live.folder / "dataset"
    conditions = plan.Conditions(options.label, None, dataset, args.bandwidth, args.loss)
    replays = plan.Campaign(
        choice.label, (choice,), (conditions,), args.runs - 1, args.replay_speed
    )
    return execution.execute(replays, live.folder, serial=True)


class LiveBenchmark:
    """The live run of a system, on a flight whose simulation has begun.

    Attributes:
        folder: Run folder of the simulation.
    """

    def __init__(
        self, client: ControlClient, adapter: adapters.Adapter, label: str, options: FlightOptions
    ) -> None:
        """Asks the simulation for its vehicle and the stereo pair.

        Args:
            client: Of the simulation.
            adapter: The system under test.
            label: Its folder name, with the parameters.
            options: The flight.

        Raises:
            SlamError: The vehicle has no grey stereo pair, or there is no run folder.
        """
        folder = client.request("status")["folder"]
        sensors: list[SensorDescription] = client.request("sensors")["sensors"]
        pair = next((sensor for sensor in sensors if sensor["kind"] == "stereo"), None)
        if pair is None or folder is None:
            raise SlamError(
                f"the vehicle '{options.vehicle}' has no stereo pair, or there is no run "
                "folder: give vehicle:=iris_stereo"
            )
        self.folder = Path(folder)
        self._client, self._adapter, self._label, self._options = client, adapter, label, options
        self._pair = pair
        self._vehicle = Scenario.load(self.folder / "scenario.yaml").vehicles[0]
        blocks = load_vehicle(self._vehicle.type).sensors
        self._calibration, self._imu_pos = stereo_calibration(pair, blocks)

    def fly(self, channel: Channel, link: dict[str, float]) -> None:
        """Runs the system until the vehicle has landed, and writes the results.

        Args:
            channel: The image link.
            link: Its values by name, for the results.
        """
        writer = DatasetWriter(self.folder / "dataset", self._calibration)
        name = f"{self._options.label}_live"
        path = results.run_path(self.folder, name, self._label, 1)
        system = runner.SystemRun(self._adapter, writer.folder, path)
        with system as session:
            live = LiveRun(writer, session, channel, self._imu_pos, self._pair["period_us"])
            subscribers = self._subscribe(live)
            factor = self._follow(live, session)
            for subscriber in subscribers:
                subscriber.unregister()
            live.close()
            session.finish()
        print(
            f"live: {session.frames} pairs, {session.answers} answers, {session.dropped} dropped, "
            f"{session.missing} missing; {system.outcome.reason or 'complete'}",
            flush=True,
        )
        dataset = Dataset(writer.folder)
        flight = {"live": True, "real_time_factor": factor, "stereo_pairs": len(dataset)}
        metadata = {**self._options.metadata(), **link, **flight}
        results.write_flight(self.folder, name, dataset.truth(), metadata)

    def _subscribe(self, live: LiveRun) -> Sequence[rospy.Subscriber]:
        def on_truth(message: Message) -> None:
            pose, twist = message.pose.pose, message.twist.twist
            orientation = np.array(quat(pose.orientation))
            live.truth(
                time_us(message.header),
                np.array(xyz(pose.position)),
                orientation,
                Rotation.from_quat(orientation).apply(xyz(twist.linear)),
                np.array(xyz(twist.angular)),
            )

        name = self._vehicle.name
        images = [topic for topic, kind in topics(self._pair) if kind == "sensor_msgs/Image"]
        truth = rospy.Subscriber(
            f"/xtdrone/{name}/ground_truth/odom",
            ros_class("nav_msgs/Odometry"),
            on_truth,
            queue_size=500,
        )
        imu = subscribe_imu(f"{discovery.mavros(name)}/imu/data_raw", live.imu)
        return [*subscribe_images(images, live.image), imu, truth]

    def _follow(self, live: LiveRun, session: Session) -> float | None:
        """Waits for the end of the flight; returns its last known real-time factor."""
        factor, reported_s = None, time.monotonic()
        while not live.landed.wait(0.2):
            if time.monotonic() - live.last_message_s > _SILENCE_S:
                session.fail(f"no message from the flight for {_SILENCE_S:g} s")
                break
            if session.frames and session.failed():
                break  # the recording goes on until the vehicle has landed
            try:
                factor = round(self._client.request("status")["real_time_factor"], 3)
            except ControlError:
                session.fail("the simulation ended before the vehicle was down")
                break
            if time.monotonic() - reported_s > _STATUS_S:
                reported_s = time.monotonic()
                print(f"live: {session.frames} pairs, {session.answers} answers", flush=True)
        while session.reason and not live.landed.wait(0.2):
            if time.monotonic() - live.last_message_s > 0.5 * _SILENCE_S:
                break
        return factor
