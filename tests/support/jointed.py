"""Vehicles with joints for tests: a gimbal, an arm, a tilting motor."""

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_core import VehicleSpec
from xtdrone_sim.vehicles.sdf import load_vehicle

_MOTOR = """<plugin name="motor{k}" filename="libgazebo_motor_model.so">
<jointName>{joint}</jointName><linkName>{link}</linkName><turningDirection>ccw</turningDirection>
<timeConstantUp>0.0125</timeConstantUp><timeConstantDown>0.025</timeConstantDown>
<maxRotVelocity>1100</maxRotVelocity><motorConstant>5.84e-06</motorConstant>
<momentConstant>0.06</momentConstant><motorNumber>{k}</motorNumber>
<rotorDragCoefficient>0</rotorDragCoefficient>
<rollingMomentCoefficient>0</rollingMomentCoefficient></plugin>"""
_CAMERA = """<sensor name="eye" type="camera"><pose>0.05 0 0 0 0 0</pose>
<update_rate>25</update_rate><camera><horizontal_fov>1.0</horizontal_fov>
<image><width>64</width><height>48</height></image></camera></sensor>"""


SENSORS = "".join(  # of a base link, as a flight stack needs them
    f'<plugin name="{name}" filename="libgazebo_{name}_plugin.so">'
    "<linkName>base</linkName></plugin>"
    for name in ("imu", "magnetometer", "barometer", "gps")
)


def link(name, pose="0 0 0 0 0 0", mass=1.0, inertia=(0.02, 0.03, 0.04), more=""):
    """A link with a box of 5 cm to be seen and to collide."""
    xx, yy, zz = inertia
    box = "<geometry><box><size>0.05 0.05 0.05</size></box></geometry>"
    return (
        f'<link name="{name}"><pose>{pose}</pose><inertial><mass>{mass}</mass><inertia>'
        f"<ixx>{xx}</ixx><iyy>{yy}</iyy><izz>{zz}</izz></inertia></inertial>"
        f'<collision name="c">{box}</collision><visual name="v">{box}</visual>{more}</link>'
    )


def joint(name, parent, child, axis, more="", kind="revolute", pose="0 0 0 0 0 0"):
    """A joint at its child's frame, or at `pose` in it; `more` goes into its axis."""
    return (
        f'<joint name="{name}" type="{kind}"><pose>{pose}</pose><parent>{parent}</parent>'
        f"<child>{child}</child><axis><xyz>{axis}</xyz>{more}</axis></joint>"
    )


def channel(number, joint_name, scaling=1.0, zero=0.0, own="", control="position"):
    """A control channel of the MAVLink plugin."""
    return (
        f'<channel name="{joint_name}_channel"><input_index>{number}</input_index>'
        f"<input_offset>0</input_offset><input_scaling>{scaling}</input_scaling>"
        f"<zero_position_armed>{zero}</zero_position_armed>"
        f"<joint_control_type>{control}</joint_control_type>"
        f"<joint_name>{joint_name}</joint_name>{own}</channel>"
    )


def channels(*found):
    """The MAVLink plugin with its control channels."""
    return (
        '<plugin name="mavlink" filename="libgazebo_mavlink_interface.so"><control_channels>'
        f"{''.join(found)}</control_channels></plugin>"
    )


def servo(time_constant=0.05, rate=3.0):
    """Lag [s] and largest speed [rad/s] of a channel."""
    return (
        f"<xtdrone:servo><time_constant>{time_constant}</time_constant><rate>{rate}</rate>"
        "</xtdrone:servo>"
    )


def rotor(k, parent, place):
    """A motor with its propeller on a link; place is in the model's frame."""
    return (
        link(f"rotor_{k}", f"{place} 0 0 0", 0.005, (1e-6, 1e-6, 2e-6))
        + joint(f"rotor_{k}_joint", parent, f"rotor_{k}", "0 0 1")
        + _MOTOR.format(k=k, joint=f"rotor_{k}_joint", link=f"rotor_{k}")
    )


GIMBAL = (
    link("base", mass=1.5)
    + link("yaw_ring", "0.1 0 -0.05 0 0 0", 0.1, (1e-4, 1e-4, 1e-4))
    + joint("yaw", "base", "yaw_ring", "0 0 1")
    + link("camera", "0.15 0 -0.1 0 0 0", 0.15, (1e-4, 1e-4, 1e-4), _CAMERA)
    + joint(
        "pitch",
        "yaw_ring",
        "camera",
        "0 1 0",
        "<limit><lower>-1.6</lower><upper>1.6</upper></limit>",
        pose="-0.02 0 0 0 0 0",
    )
    + channels(channel(4, "yaw", 3.14, own=servo()), channel(5, "pitch", 1.57, own=servo()))
)

ARM = (
    link("base", mass=1.5)
    + link("upper", "0.1 0 -0.05 0 0.3 0", 0.2, (1e-4, 8e-4, 8e-4))
    + joint("shoulder", "base", "upper", "0 1 0", pose="-0.1 0 0 0 0 0")
    + link("fore", "0.3 0 -0.1 0 0 0.2", 0.15, (1e-4, 5e-4, 5e-4))
    + joint("elbow", "upper", "fore", "0 0.6 0.8", pose="-0.1 0 0 0 0 0")
    + link("payload", "0.4 0 -0.1 0 0 0", 0.25, (2e-4, 2e-4, 2e-4))
    + joint("grip", "fore", "payload", "1 0 0", kind="fixed")
    + channels(channel(6, "shoulder", 1.2, own=servo()), channel(7, "elbow", 1.0, own=servo()))
)

TILT = (
    link("base", mass=1.0)
    + link("nacelle", "0.2 0 0.05 0 0 0", 0.1, (1e-4, 1e-4, 1e-4))
    + joint(
        "tilt", "base", "nacelle", "0 1 0", "<limit><lower>-1.6</lower><upper>1.6</upper></limit>"
    )
    + rotor(0, "nacelle", "0.2 0 0.1")
    + rotor(1, "base", "-0.2 0 0.05")
    + channels(channel(2, "tilt", 1.57, own=servo(0.0, 2.0)))
)

SLIDE = (
    link("base")
    + link("ballast", "0 0 -0.1 0 0 0", 0.3, (1e-4, 1e-4, 1e-4))
    + joint(
        "rail",
        "base",
        "ballast",
        "1 0 0",
        kind="prismatic",
        more="<limit><lower>-0.2</lower><upper>0.2</upper></limit>",
    )
    + channels(channel(0, "rail", 0.2, own=servo(0.1, 1.0)))
)


def write(folder, body):
    """The vehicle of a body of SDF, loaded from a file in a folder."""
    path = folder / "model.sdf"
    path.write_text(
        f'<sdf version="1.7" xmlns:xtdrone="urn:xtdrone"><model name="m">{body}</model></sdf>'
    )
    return load_vehicle(str(path))


def spec(vehicle, height=50.0):
    """One of it, high above the ground."""
    return VehicleSpec(str(vehicle.sdf), "one", (0.0, 0.0, height))


def _camera(simulation, body):
    """Place [m] and attitude of a body of the first vehicle."""
    k = [one.name for one in simulation.fleet.vehicles[0].bodies].index(body)
    state = simulation.state
    return state.body_pos[0, k], Rotation.from_quat(state.body_quat[0, k])


def off_axis(simulation, body, place):
    """Angle between where a camera looks and a place (3,) in the world [deg]."""
    pos, attitude = _camera(simulation, body)
    way = place - pos
    cosine = attitude.as_matrix()[:, 0] @ way / np.linalg.norm(way)
    return np.degrees(np.arccos(min(cosine, 1.0)))


def looks(simulation, body):
    """Roll and pitch of a camera from the horizon, yaw from the vehicle's heading [deg].

    Pitch is positive upwards, yaw to the right.
    """
    yaw, pitch, roll = _camera(simulation, body)[1].as_euler("ZYX", degrees=True)
    heading = Rotation.from_quat(simulation.state.quat[0]).as_euler("ZYX", degrees=True)[0]
    return roll, -pitch, (heading - yaw + 180.0) % 360.0 - 180.0
