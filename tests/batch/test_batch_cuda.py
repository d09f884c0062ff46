"""The batch on a graphics card: compiled for it, run in a simulator, and on a card if any."""

import importlib.util
import json
import os
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import numba
import numpy as np
import pytest
from numba import types

from propelled import iris_by
from xtdrone_batch.device_array import DeviceArray, check_device
from xtdrone_batch.errors import BatchError
from xtdrone_batch.rays.caster import Limits
from xtdrone_batch.rays.frames import Frames, Poses
from xtdrone_batch.rays.noise import Noise, disturb_images
from xtdrone_batch.rays.pattern import pattern_of
from xtdrone_batch.simulation import BatchSimulation

# One process for all: the simulator is chosen before numba is imported.
FLIGHTS = """
import json
import os
import numpy as np
import xtdrone as xd

if "NUMBA_ENABLE_CUDASIM" in os.environ:
    from numpy import from_dlpack
else:
    from torch import from_dlpack  # NumPy takes no arrays of a card

ALOFT = "iris@0,0,9", "solo@3,0,9"
CASES = {
    "actuator": dict(vehicles="; ".join(ALOFT), action="actuator"),
    "rates": dict(vehicles=ALOFT[0], action="rates"),
    "attitude": dict(vehicles=ALOFT[1], action="attitude"),
    "velocity": dict(vehicles="; ".join(ALOFT), action="velocity"),
    "position": dict(vehicles=ALOFT[0], action="position", controller="geometric"),
    "indi": dict(vehicles=ALOFT[0], action="velocity", controller="indi"),
    "single": dict(vehicles=ALOFT[0], action="velocity", dtype="float32"),
    "ground": dict(vehicles="iris", action="velocity"),
    "wind": dict(vehicles=ALOFT[0], action="velocity", wind="2,1,0", sensors=True),
    "wings": dict(vehicles="plane@0,0,50", action="actuator"),
    "joints": dict(vehicles="tiltrotor@0,0,50", action="actuator"),
    "propellers": dict(vehicles=os.environ["PROPELLED"] + "@0,0,9", action="velocity"),
}
ACTIONS = {"actuator": 0.6, "rates": (0.1, 0.2, 0.3, 0.6), "attitude": (0.0, 0.0, 0.0, 1.0, 0.6),
           "velocity": (1.0, 0.5, 0.2, 0.3), "position": (1.0, 2.0, 10.0, 0.4)}
VARIED = xd.Randomisation(pos=(0.2, 0.2, 0.1), yaw=2.0, vel=0.5, mass=0.1, thrust=0.1)

found = {}
for name, options in CASES.items():
    here, there = (xd.BatchSimulation(environments=2, sub_steps=3, randomisation=VARIED, seed=3,
                                      device=device, **options) for device in ("cpu", "cuda"))
    for k in range(3):
        action = np.empty(here.action_shape)
        action[:] = ACTIONS[options["action"]]
        here.step(action)
        there.step(action)
        if k == 1:
            some = np.array([True, False])
            here.reset(some)
            there.reset(some)
    found[name] = {key: float(np.abs(np.asarray(ours) - theirs).max(initial=0.0))
                   for key, ours, theirs in zip(here.state._fields, there.state, here.state)}
    if "sensors" in options:
        found[name]["accel"] = float(np.abs(here.sensors.accel - there.sensors.accel).max())
    shared = from_dlpack(there.state.pos)
    there.step(action)
    there.wait()
    found[name]["shared"] = float(np.abs(shared.tolist() - np.asarray(there.state.pos)).max())
print(json.dumps(found))
"""

# The images of one vehicle, which sees the other, and its scan; then those of one environment.
IMAGES = """
import json
import numpy as np
import xtdrone as xd
from sensor_models.cameras import CameraParameters
from sensor_models.rendered.lidar import LidarParameters
from xtdrone_batch.scenes import BOX, CYLINDER, MESH, PLANE, SPHERE, Scenes, TriangleMesh
from xtdrone_batch.scenes import object_dtype

CHANNELS = "depth", "image", "segmentation", "normals", "flow"
wedge = TriangleMesh(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.5]], dtype=float),
                     np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
objects = np.zeros((2, 5), dtype=object_dtype())
objects["kind"] = PLANE, BOX, CYLINDER, SPHERE, MESH
objects["pos"] = [(0, 0, 0), (6, 2, 1), (5, -2, 1), (8, 0, 3), (4, 0.5, 0)]
objects["quat"] = 0.0, 0.0, 0.1, 0.995
objects["size"] = [(50, 50, 0), (1, 2, 2), (0.5, 2, 0), (1, 0, 0), (1, 1, 1)]
objects["semantic"], objects["colour"] = (1, 2, 3, 4, 5), (0.2, 0.9, 0.5)
bounds = np.tile([[-20.0, -20.0, 0.0], [20.0, 20.0, 10.0]], (2, 1, 1))

def taken(device):
    batch = xd.BatchSimulation("iris@0,0,2; iris@3,0.4,2", 2, device=device, seed=5,
                               scenes=Scenes(objects.copy(), bounds, (wedge,)),
                               randomisation=xd.Randomisation(yaw=0.1, vel=1.0))
    camera = CameraParameters.pinhole(8, 4, 1.2)
    clear = batch.add_camera(camera, channels=CHANNELS, vehicle=0)
    noisy = batch.add_camera(CameraParameters.pinhole(8, 4, 1.2, noise_stddev=0.01), vehicle=0,
                             channels=("depth", "image"), seed=1)
    beams = LidarParameters((0, 0, 0.1), (0, 0, 0, 1), 10.0, 0.0, 0.0, 8, -0.5, 0.5, 4, -0.3, 0.1,
                            0.2, 40.0, 0.0, 0.01, 0.0)
    lidar = batch.add_lidar(beams, vehicle=0)
    clear.capture()
    noisy.capture()
    found = {name: np.array(array) for name, array in clear.images._asdict().items()}
    found |= {f"noisy {name}": np.array(array) for name, array in noisy.images._asdict().items()
              if array is not None}
    found["ranges"] = np.array(lidar.scan().ranges)
    batch.scenes.objects["pos"][:, 1, 2] += 1.0
    batch.rays.invalidate()
    clear.capture(np.array([1]))
    found["moved"] = np.array(clear.images.depth)
    return found

here, there = taken("cpu"), taken("cuda")
print(json.dumps({name: [float((np.abs(np.nan_to_num(here[name].astype(float), posinf=1e3)
                                       - np.nan_to_num(there[name].astype(float), posinf=1e3))
                                > 2e-3).mean()), float(here[name].astype(float).min()),
                         float((here["moved"] != here["depth"]).mean())]
                  for name in here}))
"""


@pytest.fixture(scope="module", params=["simulator", "card"])
def device(request):
    """The environment of a process that has numba's simulator of a card, or a card."""
    if request.param == "simulator":
        return {"NUMBA_ENABLE_CUDASIM": "1"}
    try:
        check_device()
    except BatchError as error:
        pytest.skip(str(error))
    return {}


def printed(program: str, environment: dict[str, str]) -> dict:
    """What a program prints, as JSON."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        text=True,
        env={**os.environ, **environment},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def flights(tmp_path_factory, device):
    """The largest difference of each field from the CPU's after some steps."""
    path = iris_by(tmp_path_factory.mktemp("propelled"), "gill_dandrea_2")
    return printed(FLIGHTS, {"PROPELLED": str(path), **device})


def test_it_sees_as_the_cpu(device):
    """Every channel, kind of object, noise and lidar; pixels at edges may differ."""
    found = printed(IMAGES, device)
    assert len(found) == 9
    assert {name: apart for name, (apart, _, _) in found.items() if apart > 0.01} == {}
    assert all(moved > 0.02 for _, _, moved in found.values())


@pytest.mark.parametrize(
    "name",
    [
        "actuator",
        "rates",
        "attitude",
        "velocity",
        "position",
        "indi",
        "single",
        "ground",
        "wind",
        "wings",
        "joints",
        "propellers",
    ],
)
def test_it_flies_as_the_cpu(flights, name):
    # Measured at most 3e-9 rad/s of rotors that turn at 1000 rad/s, in single precision 4e-4.
    bound = 2e-3 if name == "single" else 1e-7
    assert {key: value for key, value in flights[name].items() if not value <= bound} == {}


def test_every_kernel_compiles_for_two_generations():
    """PTX, which a driver turns into machine code; and machine code, where ptxas is there."""
    if importlib.util.find_spec("numba_cuda") is None:
        pytest.skip("numba-cuda is not installed: pip install 'xtdrone[cuda]'")
    from numba import cuda
    from numba.cuda import dispatcher

    from xtdrone_batch.cuda import CudaBackend
    from xtdrone_batch.rays.on_device import DeviceCaster

    batch = BatchSimulation("iris@0,0,9", 3, dtype="float32")

    def place(array):
        return np.array(array, order="K")

    there = CudaBackend(batch.description, place)

    def type_of(value):
        """As numba-cuda takes it: an empty array has no layout there."""
        if isinstance(value, tuple):
            return types.BaseTuple.from_types(tuple(map(type_of, value)), type(value))
        found = numba.typeof(value)
        if isinstance(value, np.ndarray) and 0 in value.strides:
            return types.Array(found.dtype, found.ndim, "A")
        return found

    pixels, frames = np.ones((3, 4, 3)), np.arange(3)
    sizes = zip((12, 36, 12, 36, 24), ("f4", "u1", "i4", "f4", "f4"))
    caster = DeviceCaster(
        batch.rays,
        pattern_of(pixels),
        Limits(*np.float32([0.1, 50.0, 4.0, 4.0])),
        Frames(*(np.zeros((3, size), dtype=kind) for size, kind in sizes)),
        Noise(disturb_images, np.ones(2)),
        np.zeros((3, 4), dtype=np.uint64),
        place,
    )
    poses = Poses(
        *np.zeros((2, 3), dtype=np.int32),
        *(np.zeros((3, size), dtype=np.float32) for size in (3, 9, 3, 3)),
    )
    queued = *there.step_calls(0), *there.reset_calls(frames), *caster.calls(poses, None)
    calls = {
        kernel.py_func.__name__: (kernel.py_func, arguments) for kernel, *_, arguments in queued
    }
    # Without a GPU functions of the device ask in vain for what they are compiled for.
    device = SimpleNamespace(compute_capability=(8, 0))
    with mock.patch.object(dispatcher, "get_current_device", return_value=device):
        for name, (kernel, arguments) in calls.items():
            for cc in ((8, 0), (9, 0)):
                ptx, _ = cuda.compile_ptx(kernel, tuple(map(type_of, arguments)), cc=cc)
                assert f".target sm_{cc[0]}{cc[1]}" in ptx and ".entry" in ptx, name
                assert ".extern .func" not in ptx, name


def test_one_line_without_a_gpu():
    with pytest.raises(BatchError, match="device='cuda' (needs numba-cuda|finds no GPU)"):
        BatchSimulation("iris", 2, device="cuda")


def test_a_device_that_is_none():
    with pytest.raises(BatchError, match="device 'gpu'.*cuda"):
        BatchSimulation("iris", 2, device="gpu")


def test_an_array_is_lent_until_it_is_dropped():
    array = np.arange(6.0).reshape(2, 3)
    lent = DeviceArray(array, array.ctypes.data, (1, 0))
    taken = np.from_dlpack(lent)
    del lent
    array[1, 2] = 7.0
    assert taken[1, 2] == 7.0 and taken.shape == (2, 3) and taken.dtype == np.float64
    assert array.ctypes.data == taken.ctypes.data
