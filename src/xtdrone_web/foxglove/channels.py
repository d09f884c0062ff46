"""The topics: Foxglove's well-known schemas, and JSON where there is none."""

from collections.abc import Sequence
from types import ModuleType

import numpy as np

from xtdrone_core import Estimates, FleetState, Reading, SensorBatch, Vehicle
from xtdrone_core.modes import ROS_NAME
from xtdrone_core.state import SensorDescription
from xtdrone_sim.world import World

from ..gltf import scene, writer
from .sdk import SdkObject

STATE = "state"  # channel of each vehicle's state: /NAME/state
_NUMBER, _FLAG = {"type": "number"}, {"type": "boolean"}
_NUMBERS = {"type": "array", "items": _NUMBER}
STATE_SCHEMA = {
    "type": "object",
    "title": "xtdrone.VehicleState",
    "properties": {
        "mode": {"type": "string"},
        "armed": _FLAG,
        "landed": _FLAG,
        "ready": _FLAG,
        "voltage": _NUMBER,
        "current": _NUMBER,
        "velocity": _NUMBERS,
        "rates": _NUMBERS,
        "estimated_velocity": _NUMBERS,
        "actuators": _NUMBERS,
        "wind": _NUMBERS,
    },
}
_MODES = {int(mode): name for mode, name in ROS_NAME.items()}
_LEVELS = ("Fatal", "Fatal", "Fatal", "Error", "Warning", "Info", "Info", "Debug")  # by severity


class Channels:
    """The topics of a fleet; a message that nobody listens to is not made."""

    def __init__(
        self,
        foxglove: ModuleType,
        context: SdkObject,
        names: Sequence[str],
        sensors: Sequence[SensorDescription],
    ):
        """Advertises the topics.

        Args:
            foxglove: The SDK.
            context: Its Context.
            names: Names of the vehicles.
            sensors: Cameras and lidars, as RenderedSensors.describe() gives them.
        """
        channels, self._messages, self._names = foxglove.channels, foxglove.messages, list(names)
        self._tf = channels.FrameTransformsChannel("/tf", context=context)
        self._scene = channels.SceneUpdateChannel("/scene", context=context)
        self._log = channels.LogChannel("/log", context=context)
        self._pose, self._estimate = (
            [channels.PoseInFrameChannel(f"/{name}/{what}", context=context) for name in names]
            for what in ("pose", "estimate")
        )
        self._fix = [channels.LocationFixChannel(f"/{name}/fix", context=context) for name in names]
        self._state = [
            foxglove.Channel(f"/{name}/{STATE}", schema=STATE_SCHEMA, context=context)
            for name in names
        ]
        self._sensors = {(each["vehicle"], each["sensor"]): each for each in sensors}
        self._images: dict[str, SdkObject] = {}
        for each in sensors:
            topic = f"/{each['vehicle']}/{each['sensor']}"
            for array in each["arrays"]:
                kind = (
                    channels.LaserScanChannel
                    if each["kind"] == "lidar"
                    else channels.RawImageChannel
                )
                self._images[f"{topic}/{array[0]}"] = kind(f"{topic}/{array[0]}", context=context)

    @property
    def watched(self) -> bool:
        """True while anybody wants images or scans."""
        return any(channel.has_sinks() for channel in self._images.values())

    def transforms(self, t_us: int, state: FleetState) -> None:
        """Sends true poses of all vehicles, and once a second those of their sensors."""
        if not self._tf.has_sinks():
            return
        messages, stamp = self._messages, self._stamp(t_us)
        transforms = [
            messages.FrameTransform(
                timestamp=stamp,
                parent_frame_id="world",
                child_frame_id=name,
                translation=self._vector(pos),
                rotation=self._turn(quat),
            )
            for name, pos, quat in zip(
                self._names, state.pos.tolist(), state.quat.tolist(), strict=True
            )
        ]
        if t_us % 1_000_000 == 0:
            transforms += [
                messages.FrameTransform(
                    timestamp=stamp,
                    parent_frame_id=vehicle,
                    child_frame_id=f"{vehicle}/{sensor}",
                    translation=self._vector(each["parameters"][0]["pos"]),
                    rotation=self._turn(each["parameters"][0]["quat"]),
                )
                for (vehicle, sensor), each in self._sensors.items()
            ]
        self._tf.log(messages.FrameTransforms(transforms=transforms), log_time=t_us * 1000)

    def states(
        self,
        t_us: int,
        state: FleetState,
        estimates: Estimates,
        sensors: SensorBatch,
        wind: np.ndarray,
    ) -> None:
        """Sends poses, estimates and the state of each vehicle."""
        for channels, source in ((self._pose, state), (self._estimate, estimates)):
            pos, quat = source.pos.tolist(), source.quat.tolist()
            for i, channel in enumerate(channels):
                if channel.has_sinks():
                    channel.log(
                        self._messages.PoseInFrame(
                            timestamp=self._stamp(t_us),
                            frame_id="world",
                            pose=self._messages.Pose(
                                position=self._vector(pos[i]), orientation=self._turn(quat[i])
                            ),
                        ),
                        log_time=t_us * 1000,
                    )
        for i, channel in enumerate(self._state):
            if channel.has_sinks():
                channel.log(
                    {
                        "mode": _MODES.get(int(estimates.mode[i]), ""),
                        "armed": bool(estimates.armed[i]),
                        "landed": bool(estimates.landed[i]),
                        "ready": bool(estimates.ready[i]),
                        "voltage": _json(sensors.battery_voltage[i]),
                        "current": _json(sensors.battery_current[i]),
                        "velocity": _list(state.vel[i]),
                        "rates": _list(state.ang_vel[i]),
                        "estimated_velocity": _list(estimates.vel[i]),
                        "actuators": _list(state.actuator[i]),
                        "wind": _list(wind[i]),
                    },
                    log_time=t_us * 1000,
                )

    def fixes(self, t_us: int, sensors: SensorBatch) -> None:
        """Sends the readings of the GPS receivers."""
        places = np.degrees(np.stack([sensors.gps_lat, sensors.gps_lon], axis=1)).tolist()
        for i, channel in enumerate(self._fix):
            # Before the first fix has arrived, a receiver's place is 0, 0.
            if channel.has_sinks() and sensors.gps_fix[i] >= 3 and any(places[i]):
                east, up = float(sensors.gps_eph[i]) ** 2, float(sensors.gps_epv[i]) ** 2
                channel.log(
                    self._messages.LocationFix(
                        timestamp=self._stamp(t_us),
                        frame_id=self._names[i],
                        latitude=places[i][0],
                        longitude=places[i][1],
                        altitude=float(sensors.gps_alt[i]),
                        position_covariance=[east, 0.0, 0.0, 0.0, east, 0.0, 0.0, 0.0, up],
                        position_covariance_type=self._messages.LocationFixPositionCovarianceType.DiagonalKnown,
                    ),
                    log_time=t_us * 1000,
                )

    def text(self, t_us: int, severity: int, who: str, text: str) -> None:
        """Sends an event or a message of a flight stack."""
        level = getattr(self._messages.LogLevel, _LEVELS[min(max(severity, 0), 7)])
        self._log.log(
            self._messages.Log(timestamp=self._stamp(t_us), level=level, message=text, name=who),
            log_time=t_us * 1000,
        )

    def models(self, t_us: int, world: World, vehicles: Sequence[Vehicle]) -> None:
        """Sends the world's and the vehicles' shapes, as glTF."""
        messages = self._messages
        shapes = [("world", scene.world_file(world))]
        shapes += [
            (name, scene.vehicle_file(model))
            for name, model in zip(self._names, vehicles, strict=True)
        ]
        self._scene.log(
            messages.SceneUpdate(
                entities=[
                    messages.SceneEntity(
                        timestamp=self._stamp(t_us),
                        frame_id=frame,
                        id=frame,
                        frame_locked=True,
                        models=[
                            messages.ModelPrimitive(
                                pose=messages.Pose(
                                    position=self._vector((0.0, 0.0, 0.0)),
                                    orientation=self._turn((0.0, 0.0, 0.0, 1.0)),
                                ),
                                scale=self._vector((1.0, 1.0, 1.0)),
                                media_type="model/gltf-binary",
                                data=writer.without(path.read_bytes(), "far"),
                            )
                        ],
                    )
                    for frame, path in shapes
                ]
            ),
            log_time=t_us * 1000,
        )

    def reading(self, reading: Reading) -> None:
        """Sends an image or a scan."""
        frame = f"{reading.vehicle}/{reading.sensor}"
        for name, array in reading.data.items():
            channel = self._images.get(f"/{frame}/{name}")
            if channel is None or not channel.has_sinks():
                continue
            if reading.kind == "lidar":
                message = self._scan(reading, frame, array)
            else:
                message = self._image(reading, frame, array)
            channel.log(message, log_time=reading.t_us * 1000)

    def _scan(self, reading: Reading, frame: str, ranges: np.ndarray) -> SdkObject:
        lidar = self._sensors[reading.vehicle, reading.sensor]["parameters"][0]
        row = ranges[len(ranges) // 2]  # the middle one of a scanner in space
        return self._messages.LaserScan(
            timestamp=self._stamp(reading.t_us),
            frame_id=frame,
            ranges=row.tolist(),
            start_angle=lidar["min_angle"],
            end_angle=lidar["max_angle"],
            pose=self._messages.Pose(
                position=self._vector((0.0, 0.0, 0.0)), orientation=self._turn((0.0, 0.0, 0.0, 1.0))
            ),
        )

    def _image(self, reading: Reading, frame: str, array: np.ndarray) -> SdkObject:
        encoding = "rgb8" if array.ndim == 3 else "32FC1" if array.dtype.kind == "f" else "mono8"
        data = np.ascontiguousarray(array, dtype="<f4" if encoding == "32FC1" else np.uint8)
        return self._messages.RawImage(
            timestamp=self._stamp(reading.t_us),
            frame_id=frame,
            width=array.shape[1],
            height=array.shape[0],
            encoding=encoding,
            step=data.strides[0],
            data=data.tobytes(),
        )

    def _stamp(self, t_us: int) -> SdkObject:
        return self._messages.Timestamp(t_us // 1_000_000, t_us % 1_000_000 * 1000)

    def _vector(self, values: Sequence[float]) -> SdkObject:
        return self._messages.Vector3(x=values[0], y=values[1], z=values[2])

    def _turn(self, quat: Sequence[float]) -> SdkObject:
        return self._messages.Quaternion(x=quat[0], y=quat[1], z=quat[2], w=quat[3])


def _json(value: float) -> float | None:
    """Returns a number, or None for one that JSON does not have."""
    return round(float(value), 4) if np.isfinite(value) else None


def _list(values: np.ndarray) -> list[float | None]:
    return [_json(value) for value in values]
