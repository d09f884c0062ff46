"""Runs Basalt on the link's input. It is run by the Python of Basalt's own environment and
imports only `link` from the workspace.
"""

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO, TypeAlias

# The preloaded library must find depthai's symbols.
sys.setdlopenflags(sys.getdlopenflags() | os.RTLD_GLOBAL)

import depthai as dai  # noqa: E402
import numpy as np  # noqa: E402

# Columns: the optical axes (x right, y down, z forward) in the camera frame of the output poses
# (x forward, y left, z up).
_OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
DepthaiObject: TypeAlias = Any  # depthai has no annotations
Reading = tuple[int, np.ndarray, np.ndarray]  # time [us], gyroscope [rad/s], accelerometer [m/s^2]
_MAX_PAIRS = 2  # pairs in Basalt's queues at a time
_GRAVITY_US = 1_000_000  # time before the first pair over which the accelerometer is averaged [us]
_SOCKETS = dai.CameraBoardSocket.CAM_B, dai.CameraBoardSocket.CAM_C


def write_calibration(path: Path | str, cameras: Sequence[dict[str, Any]]) -> None:
    """Writes the calibration file that the preloaded library returns."""
    handler = dai.CalibrationHandler()
    for socket, camera in zip(_SOCKETS, cameras):
        handler.setCameraIntrinsics(socket, camera["matrix"], camera["width"], camera["height"])
        handler.setDistortionCoefficients(socket, [*camera["distortion"], *[0.0] * 10])
        handler.setCameraType(socket, dai.CameraModel.Perspective)
    left, right = (np.linalg.inv(camera["pose"]) for camera in cameras)  # body to camera
    for setter, sockets, pose in (
        (handler.setImuExtrinsics, _SOCKETS[:1], left),
        (handler.setCameraExtrinsics, _SOCKETS, right @ np.linalg.inv(left)),
    ):
        translation = (100.0 * pose[:3, 3]).tolist()  # [cm], both as measured and as specified
        setter(*sockets, pose[:3, :3].tolist(), translation, translation)
    for socket, pose in zip(_SOCKETS, (left, right)):
        read_back = np.array(handler.getImuToCameraExtrinsics(socket, True))
        read_back[:3, 3] *= 0.01
        if not np.allclose(read_back, pose, atol=1e-5):
            sys.exit(f"depthai read the calibration back as {read_back.tolist()}")
    handler.eepromToJsonFile(path)


def frame(image: np.ndarray, number: int, t_us: int) -> DepthaiObject:
    """Makes a depthai message of an image."""
    message = dai.ImgFrame()
    message.setType(dai.ImgFrame.Type.GRAY8)
    message.setWidth(image.shape[1])
    message.setHeight(image.shape[0])
    message.setStride(image.shape[1])
    message.setData(image.ravel())
    message.setInstanceNum(int(_SOCKETS[number]))
    message.setTimestamp(timedelta(microseconds=t_us))
    return message


def packet(gyro: np.ndarray, accel: np.ndarray, t_us: int) -> DepthaiObject:
    """Makes a depthai packet of an IMU reading."""
    result = dai.IMUPacket()
    for report, vector in ((result.acceleroMeter, accel), (result.gyroscope, gyro)):
        report.x, report.y, report.z = (float(x) for x in vector)
        stamp = dai.Timestamp()
        stamp.sec, stamp.nsec = divmod(t_us * 1000, 1_000_000_000)
        report.timestamp = stamp
    return result


def send(imu: DepthaiObject, readings: Iterable[Reading]) -> None:
    """Sends IMU readings (t_us, gyro, accel) to Basalt."""
    message = dai.IMUData()
    message.packets = [packet(gyro, accel, t_us) for t_us, gyro, accel in readings]
    imu.send(message)


def begin(
    imu: DepthaiObject,
    waiting: queue.Queue[int],
    readings: Sequence[Any],  # each a Reading; as such, np.mean refuses its columns
    t_us: int,
) -> None:
    """Sends readings until the first pair is answered.

    Basalt initialises with the first pair and discards all earlier readings. It takes the direction
    of gravity from the first reading after that pair, so this sends the mean of the recent ones.
    """
    recent = [reading for reading in readings if reading[0] > t_us - _GRAVITY_US] or readings
    gyro, accel = (np.mean([reading[i] for reading in recent], axis=0) for i in (1, 2))
    while waiting.unfinished_tasks:
        t_us += 1
        send(imu, [(t_us, gyro, accel)])
        time.sleep(0.05)


def answer(
    poses: DepthaiObject,
    waiting: queue.Queue[int],
    room: threading.Semaphore,
    camera_from_body: np.ndarray,
    link: ModuleType,
    answers: TextIO,
) -> None:
    """Writes the pose of each pair; Basalt returns them in the order of the pairs."""
    while True:
        pose = np.array(poses.get().transform.matrix) @ camera_from_body
        t_us = waiting.get()
        print(link.pose_line(t_us, pose[:3, 3], link.quaternion(pose[:3, :3]), 0), file=answers)
        waiting.task_done()
        room.release()


def main() -> None:
    """Runs until the input ends."""
    with open(sys.argv[1]) as file:
        values = json.load(file)
    sys.path.append(values["link"])  # last, so that it shadows no package of the environment
    import link

    answers = link.answers()
    write_calibration(os.environ["DEPTHAI_CALIBRATION"], values["cameras"])
    pipeline = dai.Pipeline(False)
    vio = pipeline.create(dai.node.BasaltVIO)
    vio.runSyncOnHost(True)
    vio.setConfigPath(values["vio"])
    vio.setImuUpdateRate(round(values["rate"]))
    vio.setGyroNoiseStd([values["gyro_noise"]] * 3)
    vio.setAccelNoiseStd([values["accel_noise"]] * 3)
    vio.setLocalTransform(dai.TransformData(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
    sides = [vio.left.createInputQueue(), vio.right.createInputQueue()]
    imu = vio.imu.createInputQueue()
    poses = vio.transform.createOutputQueue()
    waiting: queue.Queue[int] = queue.Queue()  # times of the pairs that have no pose yet
    # depthai drops messages when a queue is full, and poses carry no time stamp of their pair.
    room = threading.Semaphore(_MAX_PAIRS)
    camera_from_body = np.linalg.inv(values["cameras"][0]["pose"])
    camera_from_body[:3] = _OPTICAL @ camera_from_body[:3]
    pipeline.start()
    threading.Thread(
        target=answer, daemon=True, args=(poses, waiting, room, camera_from_body, link, answers)
    ).start()
    shape = values["cameras"][0]["height"], values["cameras"][0]["width"]
    begun = False
    readings = []  # time, gyroscope and accelerometer of those since the last pair
    for kind, t_us, payload in link.messages(sys.stdin.buffer):
        if kind == link.IMU:
            last = (t_us, *link.reading(payload))
            readings.append(last)
        elif kind == link.PAIR:
            if not begun and not readings:  # it cannot initialise without IMU readings
                print(link.lost_line(t_us, 0), file=answers)
                continue
            room.acquire()
            waiting.put(t_us)
            for number, (side, image) in enumerate(zip(sides, link.images(payload, shape))):
                side.send(frame(image, number, t_us))
            if not begun:
                begin(imu, waiting, readings, t_us)
                begun = True
            else:
                # Basalt waits for a reading after the pair: repeat the last one, 1 us later.
                send(imu, [*readings, (t_us + 1, *last[1:])])
            readings = []
    waiting.join()
    os._exit(0)  # the pipeline's threads never end


main()
