"""The fixed-wing flight stack of a fleet: from modes and targets to actuator commands."""

import math
from collections.abc import Sequence

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import ROTOR, SURFACE
from xtdrone_core.modes import Mode
from xtdrone_core.runs.snapshot import Memory
from xtdrone_core.state import SensorBatch
from xtdrone_dynamics.abilities.control_surfaces import surface_signs
from xtdrone_dynamics.abilities.vehicle_type import (
    FIXED_WING,
    NOT_VTOL,
    TAILSITTER,
    lifting_rotors,
    tilted_rotors,
)
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.quaternion import from_euler

from ..control.laws import Laws, added_law, with_laws
from ..control.vector import clamp, thrust_newtons, wrap_pi, yaw_of
from ..interfaces import Estimator
from ..navigation.navigator import raise_timed_events
from ..parameters.store import ParameterStore
from ..state.clock import StepClock
from ..state.vehicle_status import (
    ACTUATORS,
    ATTITUDE,
    NEW_MODE,
    NO_SET_POINT,
    RATES,
    TARGET_LAND,
    TARGET_TAKEOFF,
    TRAJECTORY,
)
from . import auto, manual, offboard
from .attitude import control_attitude, control_rates
from .axes import to_body_axes
from .guidance import Motion, measure_airspeed, motion_of
from .land_detector import detect
from .state import TAKEOFF_NOT_BEGUN, new_state

GUIDANCE_US = 20_000  # period of guidance, that of PX4's position estimate [us]
GUIDANCE_S = GUIDANCE_US * 1e-6
MANUAL, STABILIZED, ACRO = int(Mode.MANUAL), int(Mode.STABILIZED), int(Mode.ACRO)
ALTCTL, POSCTL, OFFBOARD = int(Mode.ALTCTL), int(Mode.POSCTL), int(Mode.OFFBOARD)


@njit
def _guide(
    vehicle: Record, wing: Record, params: Record, motion: Motion, t_us: int, accel: float
) -> None:
    """Writes the set-points of the mode: attitude and throttle, rates, or torque."""
    mode = vehicle.mode
    is_auto = mode not in (MANUAL, STABILIZED, ACRO, ALTCTL, POSCTL, OFFBOARD)
    if not is_auto or vehicle.target_type != TARGET_TAKEOFF:
        wing.takeoff, wing.hold_integrals = TAKEOFF_NOT_BEGUN, False
    if not is_auto or vehicle.target_type != TARGET_LAND:
        wing.landing = wing.flaring = False
    vehicle.sp_kind = ATTITUDE
    roll = wing.roll
    if mode == MANUAL:
        manual.set_torque(vehicle, wing, params)
    elif mode == ACRO:
        manual.set_rates(vehicle, wing, params)
        vehicle.sp_kind = RATES
    elif mode == STABILIZED:
        manual.set_attitude(vehicle, wing, params)
    elif mode in (ALTCTL, POSCTL):
        manual.fly_height(vehicle, wing, params, motion, mode == POSCTL, t_us, GUIDANCE_S)
    elif mode == OFFBOARD:
        offboard.follow_set_point(vehicle, wing, params, motion, t_us, GUIDANCE_S)
        vehicle.sp_kind = ATTITUDE if vehicle.offboard_kind == TRAJECTORY else vehicle.offboard_kind
    elif not added_law(mode, vehicle, wing, params, motion, t_us, GUIDANCE_S):
        auto.fly_auto(vehicle, wing, params, motion, t_us, accel, GUIDANCE_S)
    if (
        is_auto
        or mode in (ALTCTL, POSCTL)
        or (mode == OFFBOARD and vehicle.offboard_kind == TRAJECTORY)
    ):
        step = math.radians(params.FW_PN_R_SLEW_MAX) * GUIDANCE_S
        wing.roll = clamp(wing.roll, roll - step, roll + step)
    else:
        wing.airspeed_sp = math.nan


@njit
def _report(vehicle: Record, wing: Record, motion: Motion, yaw: float) -> None:
    """Copies the set-points into VEHICLE_STATUS, for telemetry and log."""
    quat = from_euler(wing.roll, -wing.pitch, yaw)
    for k in range(4):
        vehicle.sp_quat[k] = quat[k]
    vehicle.sp_rates[0], vehicle.sp_rates[1], vehicle.sp_rates[2] = (
        wing.rate[0],
        -wing.rate[1],
        -wing.rate[2],
    )
    vehicle.sp_yaw, vehicle.sp_thrust = yaw, thrust_newtons(vehicle, wing.throttle)
    if vehicle.vtol_type == TAILSITTER:
        to_body_axes(vehicle.sp_quat, vehicle.sp_rates)
    for k in range(3):
        vehicle.sp_pos[k] = vehicle.target[k]


@njit
def _stabilise(
    vehicle: Record, wing: Record, params: Record, motion: Motion, rates: np.ndarray, dt: float
) -> None:
    """Writes the torque of the present set-points; rates is (3,), FLU [rad/s]."""
    if vehicle.mode == MANUAL:
        wing.rate_integral[:] = 0.0
        return
    if vehicle.sp_kind == ATTITUDE:
        control_attitude(wing, params, motion.roll, motion.pitch)
        if vehicle.mode in (STABILIZED, ALTCTL, POSCTL):
            max_yaw_rate = math.radians(params.FW_Y_RMAX)
            wing.rate[2] += clamp(
                vehicle.stick_clockwise * math.radians(params.FW_MAN_YR_MAX),
                -max_yaw_rate,
                max_yaw_rate,
            )
    control_rates(wing, params, rates, vehicle.landed or wing.hold_integrals, dt)
    if vehicle.mode == ACRO and not params.FW_ACRO_YAW_EN:
        wing.rate_integral[2] = 0.0
        wing.torque[2] = clamp(vehicle.stick_clockwise * params.FW_MAN_Y_SC, -1.0, 1.0)


@njit
def deflect(
    actuators: np.ndarray,
    count: int,
    signs: np.ndarray,
    torque: np.ndarray,
    fraction: float,
    commands: np.ndarray,
) -> None:
    """Writes the commands of one vehicle's control surfaces.

    Args:
        actuators: (A,) records of the vehicle in a FleetModel.
        count: Number of actuators.
        signs: (A, 3) from surface_signs().
        torque: (3,) -1..1, FRD.
        fraction: Fraction of the torque that the surfaces give.
        commands: (A,) output; those of surfaces are written, -1..1.
    """
    for k in range(count):
        if actuators[k].kind == SURFACE:
            deflection = 0.0
            for axis in range(3):
                deflection += signs[k, axis] * torque[axis]
            commands[k] = clamp(fraction * deflection, -1.0, 1.0)


@njit
def _allocate(
    actuators: np.ndarray,
    count: int,
    pushes: np.ndarray,
    signs: np.ndarray,
    wing: Record,
    commands: np.ndarray,
) -> None:
    """Writes one vehicle's commands: throttle to the pushing rotors, torque to the surfaces."""
    for k in range(count):
        if actuators[k].kind == ROTOR:
            commands[k] = clamp(wing.throttle, 0.0, 1.0) if pushes[k] else 0.0
    deflect(actuators, count, signs, wing.torque, 1.0, commands)


@njit
def _fly_vehicle(
    vehicle: Record,
    wing: Record,
    params: Record,
    estimate: Record,
    readings: Record,
    t_us: int,
    due: bool,
    origin_height: float,
    dt: float,
) -> None:
    """Steps one vehicle: airspeed, land detection, guidance when due, and attitude control."""
    measure_airspeed(wing, readings, origin_height + estimate.pos[2], t_us)
    motion = motion_of(estimate)
    if due:
        raise_timed_events(vehicle, params, t_us)
        if (
            vehicle.vtol_type == NOT_VTOL or not vehicle.armed
        ):  # a VTOL in fixed-wing flight does not land
            detect(vehicle, wing, params, motion, readings.accel, t_us)
        if vehicle.armed:
            _guide(vehicle, wing, params, motion, t_us, readings.accel[0])
            bearing = math.atan2(
                estimate.pos[1] - vehicle.centre[1], estimate.pos[0] - vehicle.centre[0]
            )
            angle_flown = wrap_pi(wing.orbit_bearing - bearing) * math.copysign(
                1.0, vehicle.orbit_radius
            )
            auto.watch_target(vehicle, wing, params, motion, t_us, angle_flown)
            wing.orbit_bearing = bearing
    if not vehicle.armed:
        vehicle.sp_kind, vehicle.sp_thrust = NO_SET_POINT, 0.0
        wing.rate_integral[:] = 0.0
        wing.torque[:] = 0.0
        wing.roll = wing.throttle = 0.0
        wing.takeoff = TAKEOFF_NOT_BEGUN
        return
    if vehicle.mode_stage == NEW_MODE:
        vehicle.mode_stage = 0
    if vehicle.sp_kind != ACTUATORS:
        _stabilise(vehicle, wing, params, motion, estimate.ang_vel, dt)
        _report(vehicle, wing, motion, yaw_of(estimate.quat))


@njit
def _fly(
    status: np.ndarray,
    wings: np.ndarray,
    parameters: np.ndarray,
    estimates: np.ndarray,
    tailsitters: np.ndarray,
    sensors: np.ndarray,
    models: np.ndarray,
    actuators: np.ndarray,
    pushes: np.ndarray,
    signs: np.ndarray,
    t_us: int,
    epoch_us: np.ndarray,
    origin_height: float,
    dt: float,
    commands: np.ndarray,
) -> int:
    """Steps all vehicles in fixed-wing flight; returns the union of their EVENT_ bits."""
    events = 0
    for i in range(status.shape[0]):
        vehicle, wing = status[i], wings[i]
        if vehicle.vehicle_type != FIXED_WING:
            continue
        due = (t_us - epoch_us[i]) % GUIDANCE_US == 0
        estimate = tailsitters[i] if vehicle.vtol_type == TAILSITTER else estimates[i]
        _fly_vehicle(
            vehicle, wing, parameters[i], estimate, sensors[i], t_us, due, origin_height, dt
        )
        _allocate(actuators[i], models[i].actuators, pushes[i], signs[i], wing, commands[i])
        events |= vehicle.events
    return events


class FixedWing(Memory):
    """Flies the vehicles whose vehicle_type is FIXED_WING, including VTOLs in fixed-wing flight.

    Attributes:
        records: (N,) of FIXED_WING_STATE.
        tailsitters: (N,) of ESTIMATE, those of tail-sitters in the axes of their wings.
        signs: (N, A, 3) from surface_signs().
        pushes: (N, A) bool, rotors that follow the throttle.
    """

    MEMORY = ("records",)

    def __init__(
        self,
        fleet: FleetModel,
        status: np.ndarray,
        parameters: ParameterStore,
        estimator: Estimator,
        origin: Sequence[float],
        laws: Laws = (),
    ) -> None:
        """Starts with all vehicles on the ground.

        Args:
            fleet: The vehicles.
            status: (N,) of VEHICLE_STATUS.
            parameters: Parameters of the fleet.
            estimator: Estimated state of the fleet.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            laws: Control laws of further modes; see modes.flight_mode.FlightMode.
        """
        self._fly = with_laws(laws, _fly, _fly_vehicle, _guide)
        self._fleet, self._status, self._parameters = fleet, status, parameters
        self._estimator, self._origin_height = estimator, float(origin[2])
        vtols = status["vtol_type"] != NOT_VTOL
        self.signs = surface_signs(fleet)
        self.pushes = fleet.rotor_mask & ~(vtols[:, None] & lifting_rotors(fleet))
        self.pushes |= tilted_rotors(fleet)
        self.tailsitters = np.zeros_like(estimator.records)
        self._any = bool(vtols.any() or (status["vehicle_type"] == FIXED_WING).any())
        self.records = new_state(fleet.n)
        self.remember_start()

    def step(self, clock: StepClock, sensors: SensorBatch, dt: float, commands: np.ndarray) -> int:
        """Writes the commands of the fixed wings.

        Args:
            clock: Time of the flight stack.
            sensors: Readings of this step.
            dt: Length of the step [s].
            commands: (N, A); rows of other vehicles are left unchanged.

        Returns:
            The union of the EVENT_ bits raised.
        """
        if not self._any:
            return 0
        return self._fly(
            self._status,
            self.records,
            self._parameters.values,
            self._estimator.records,
            self.tailsitters,
            sensors.records,
            self._fleet.vehicle,
            self._fleet.actuator,
            self.pushes,
            self.signs,
            clock.t_us,
            clock.epoch_us,
            self._origin_height,
            dt,
            commands,
        )
