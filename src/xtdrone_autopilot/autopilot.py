"""The embedded autopilot: a PX4-compatible flight stack for a whole fleet, in process."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xtdrone_core import FleetModel
from xtdrone_core.contracts import (
    AutopilotContext,
    ExternalPose,
    LandingTargetTaker,
    Logging,
    Regroupable,
    SettableParameters,
    Snapshot,
)
from xtdrone_core.fleet_model import PROPELLER
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.mavlink.key_file import read_key
from xtdrone_core.modes import Mode
from xtdrone_core.runs.log_file import LogGaps
from xtdrone_core.runs.ports import Ports
from xtdrone_core.runs.snapshot import Memory, Rows, put, regrouped
from xtdrone_core.state import Estimates, SensorBatch, SetPoints
from xtdrone_dynamics.abilities.vehicle_type import (
    FIXED_WING,
    HALF_WINGED,
    MULTICOPTER,
    STANDARD_VTOL,
    TAILSITTER,
    TILTROTOR,
    cannot_fly,
)
from xtdrone_dynamics.compiled import fleet_kernel

from . import interfaces
from .control.actuator_test import ActuatorTest
from .control.balance import Balance
from .control.output import at_rest, finish, not_allocated
from .errors import AutopilotError
from .fixed_wing.stack import FixedWing
from .gimbal.manager import GimbalManager
from .gimbal.mount import Mount
from .mavlink.commands import Commands
from .mavlink.description.answers import Answers, EventProtocol
from .mavlink.device_commands import DeviceCommands
from .mavlink.files.ftp import FileServer
from .mavlink.files.log_download import LogDownload
from .mavlink.links import HERE, TICK_US, Links
from .mavlink.messages import Messages, Presence
from .mavlink.mission_protocol import MissionProtocol
from .mavlink.origin import OriginMessages
from .mavlink.parameter_protocol import ParameterProtocol
from .mavlink.set_points import SetPointMessages
from .mavlink.setup_signing import SetupSigning
from .mavlink.streams import Reported, Streams
from .mavlink.transitions import Transitions
from .modes.flight_mode import ModeParts, flight_modes, laws
from .modes.follow_target import FollowTarget
from .navigation.grippers import GripperOrders
from .navigation.mission import Missions
from .navigation.navigator import Navigator
from .navigation.offboard import Offboard
from .navigation.orbit import Orbits
from .navigation.precision_landing import PrecisionLandings
from .navigation.preload import preload
from .options import PARTS, EmbeddedOptions
from .parameters.constraints import Constraints
from .parameters.store import ParameterStore
from .rover.drive import Drive
from .safety.arming_checks import ArmingChecks
from .safety.battery import Battery
from .safety.commander import Commander
from .safety.conditions import PERIOD_US, Watched
from .safety.failsafes import Failsafes
from .safety.failures import VISION, Failures
from .safety.health import Health
from .safety.rotor_monitor import RotorMonitor
from .state.clock import LOOP_S, LOOP_US, StepClock
from .state.flight_state import FlightState
from .state.handlers import declared
from .state.local_origin import LocalOrigins
from .state.outbox import WARNING, Outbox
from .state.readings import Readings
from .state.vehicle_status import (
    describe_bodies,
    describe_half_wings,
    describe_lost_rotors,
    new_status,
    thrust_normalised,
)
from .ulog.writer import FleetLog, Logged
from .vtol.stack import Vtol

VISION_MAX_AGE_US = 240_000  # largest age of a pose: the length of the estimator's history [us]
_FORGET_PEERS_US = 10_000_000  # period of forgetting silent peers [us]
MAV_TYPE_VTOL_FIXEDROTOR = 22  # a name that pymavlink's dialect lacks
MAV_TYPE_OF_ROTORS = {
    3: mavlink.MAV_TYPE_TRICOPTER,
    4: mavlink.MAV_TYPE_QUADROTOR,
    6: mavlink.MAV_TYPE_HEXAROTOR,
    8: mavlink.MAV_TYPE_OCTOROTOR,
}


@fleet_kernel
def _tell(status: np.ndarray, afloat: np.ndarray, estimates: np.ndarray) -> None:
    """Tells the estimator how its vehicles are."""
    for i in range(status.shape[0]):
        estimates[i].landed = status[i].landed and not afloat[i]
        estimates[i].on_wings = status[i].vehicle_type == FIXED_WING


def _mav_types(fleet: FleetModel, status: np.ndarray) -> np.ndarray:
    """(N,) MAV_TYPE of each vehicle."""
    vehicle_type, vtol_type = status["vehicle_type"], status["vtol_type"]
    rotors = [
        MAV_TYPE_OF_ROTORS.get(r, mavlink.MAV_TYPE_QUADROTOR) for r in fleet.n_rotors.tolist()
    ]
    boats = (fleet.actuator["kind"] == PROPELLER).any(axis=1)
    return np.select(
        [
            vtol_type == STANDARD_VTOL,
            vtol_type == TAILSITTER,
            vtol_type == HALF_WINGED,
            vtol_type == TILTROTOR,
            vehicle_type == MULTICOPTER,
            vehicle_type == FIXED_WING,
            boats,
        ],
        [
            MAV_TYPE_VTOL_FIXEDROTOR,
            mavlink.MAV_TYPE_VTOL_QUADROTOR,
            mavlink.MAV_TYPE_VTOL_DUOROTOR,
            mavlink.MAV_TYPE_VTOL_TILTROTOR,
            rotors,
            mavlink.MAV_TYPE_FIXED_WING,
            mavlink.MAV_TYPE_SURFACE_BOAT,
        ],
        mavlink.MAV_TYPE_GROUND_ROVER,
    )


class EmbeddedAutopilot(
    Memory, Regroupable, ExternalPose, LandingTargetTaker, Logging, SettableParameters
):
    """Estimator, control loops, modes and MAVLink links of N vehicles.

    Implements xtdrone_core.contracts.Autopilot. It sees sensor readings only. It builds the
    parts of the flight stack, each from what that part needs, and calls them in order.

    Attributes:
        status: (N,) of VEHICLE_STATUS.
        parameters, battery, estimator, navigator, landings, fixed_wing, vtol, flight, missions,
            arming_checks, failsafes, commander, offboard, failures, balance, mixer, mount,
            outbox: Parts.
        local_origins: Where clients see each vehicle's local positions from.
        position_control, velocity_control, attitude_control, rate_control: The control loops.
        commands: (N, A) of the actuators, as of the last step.
        log: The FleetLog, or None.
        links: The MAVLink links, or None.
        handlers: The handlers of messages that come in on them, or None.
    """

    # In this order: time first, since the others' schedules depend on it.
    MEMORY = (
        "clock",
        "parameters",
        "status",
        "battery",
        "estimator",
        "position_control",
        "velocity_control",
        "attitude_control",
        "rate_control",
        "balance",
        "mixer",
        "navigator",
        "orbits",
        "landings",
        "flight",
        "arming_checks",
        "failsafes",
        "offboard",
        "failures",
        "actuator_test",
        "outbox",
        "_rotor_monitor",
        "fixed_wing",
        "vtol",
        "mount",
        "gimbals",
        "local_origins",
        "commands",
        "log",
    )

    def __init__(
        self,
        fleet: FleetModel,
        origin: Sequence[float],
        magnetic_field: npt.ArrayLike,
        links: bool = True,
        on_text: Callable[[int, int, str], None] | None = None,
        classes: dict | None = None,
        ports: Ports | None = None,
    ) -> None:
        """Starts the flight stack of a fleet.

        Args:
            fleet: The vehicles.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            magnetic_field: (3,) field at the origin, ENU [T], for heading.
            links: Whether to open the MAVLink ports.
            on_text: Called with (vehicle, severity, text) for each STATUSTEXT.
            classes: The class of each part, as of interfaces.classes(); None = the embedded ones.
            ports: Ports of the simulation; None = those of the environment's instance.

        Raises:
            AutopilotError: A port is in use, or a part cannot be made.
        """
        n = fleet.n
        self.origin = (origin[0], origin[1], origin[2])
        self.local_origins = LocalOrigins(n, self.origin)
        self.clock = StepClock(n=n)
        self.readings = Readings(SensorBatch.empty(n))
        self.outbox = Outbox(n, self.clock, on_text)
        self.status = new_status(n)
        describe_bodies(self.status, fleet)
        parts = classes or interfaces.classes()
        if interfaces.fly_half_wings(parts):
            describe_half_wings(self.status, fleet)
        self.parameters = ParameterStore(n, self.status["vehicle_type"], self.status["vtol_type"])
        self._constraints = Constraints(self.parameters, self.outbox)
        # One for each vehicle, where it saves its parameters.
        self.parameter_files: list[Path] | None = None
        ports = ports or Ports()
        self.parameters.values["MAV_SYS_ID"] = [ports.system_id(i) for i in range(n)]
        self.parameters.values["MAV_TYPE"] = _mav_types(fleet, self.status)
        self.battery = Battery(fleet, self.parameters)
        self._make_loops(fleet, magnetic_field, parts)
        self.mount = Mount(fleet, self.estimator, self.clock)
        self.gimbals = GimbalManager(self.mount, self.clock)
        self._make_navigation(fleet)
        self._rotor_monitor = RotorMonitor(fleet)
        self._afloat = (fleet.actuator["kind"] == PROPELLER).any(axis=1)  # never at rest: it drifts
        self._fleet, self._rotor_mask = fleet, fleet.rotor_mask
        self._rotor_numbers = np.arange(fleet.rotor_mask.shape[1])
        self._rest = at_rest(fleet)
        self.commands = self._rest.copy()
        self._flying = np.zeros(fleet.n, dtype=np.bool_)  # multicopters in the air, rotors on
        self.log: FleetLog | None = None
        self.remember_start()
        self._ports = ports
        self.links: Links | None = None
        self.handlers: Messages | None = None
        if links:
            self.open_links()

    def _make_loops(
        self, fleet: FleetModel, magnetic_field: npt.ArrayLike, classes: Mapping[str, type]
    ) -> None:
        """The parts that a scenario may replace."""
        made = {
            part: interfaces.build(
                part,
                kind,
                *((fleet.n, self.origin, magnetic_field) if part == "estimator" else (fleet,)),
            )
            for part, kind in classes.items()
        }
        self.estimator = made["estimator"]
        self.estimator.mount(fleet)
        self.position_control = made["position_control"]
        self.velocity_control = made["velocity_control"]
        self.attitude_control = made["attitude_control"]
        self.rate_control = made["rate_control"]
        self.mixer = made["mixer"]
        self._feedback = interfaces.share_feedback(made.values(), fleet)

    def _make_navigation(self, fleet: FleetModel) -> None:
        """Modes, missions and failsafes."""
        status, parameters, estimator = self.status, self.parameters, self.estimator
        clock, origin, outbox = self.clock, self.origin, self.outbox
        modes = flight_modes()
        self.navigator = Navigator(status, parameters, estimator, laws(modes, "multicopter"))
        self.orbits = Orbits(status, parameters, estimator, self.navigator, outbox)
        self.landings = PrecisionLandings(
            status, parameters, estimator, self.navigator, clock, outbox
        )
        self.fixed_wing = FixedWing(
            fleet, status, parameters, estimator, origin, laws(modes, "fixed_wing")
        )
        self.vtol = Vtol(fleet, status, parameters, estimator, self.fixed_wing, clock, origin)
        self.drive = Drive(status, parameters, estimator, fleet, laws(modes, "rover"))
        self.flight = FlightState(status, clock, outbox)
        self._grippers = GripperOrders(fleet)
        devices = (self.mount, self.gimbals, self._grippers)
        self.missions = Missions(
            status,
            parameters,
            estimator,
            self.navigator,
            self.flight,
            clock,
            origin,
            outbox,
            self.mount.look_at,
            dict(itertools.chain(*(declared(device, "handles") for device in devices))),
        )
        self.missions.legs.on_transition = self.vtol.request
        self.missions.legs.on_precision_landing = self.landings.begin
        parts = ModeParts(
            status,
            parameters,
            estimator,
            self.navigator,
            self.orbits,
            self.landings,
            self.missions,
            self.flight,
            clock,
            origin,
            outbox,
            self.vtol.request,
        )
        for mode in modes:
            if mode.task is not None:
                self.flight.tasks[mode.mode] = mode.task(parts)
        self.arming_checks = ArmingChecks(
            status,
            parameters,
            estimator,
            self.battery,
            self.missions,
            clock,
            outbox,
            cannot_fly(fleet),
        )
        watched = Watched(
            status, parameters, estimator, self.battery, self.missions, clock, self.arming_checks
        )
        self.failsafes = Failsafes(watched, self.flight, outbox, self.fly_without)
        self.commander = Commander(
            status,
            parameters,
            estimator,
            self.arming_checks,
            self.failsafes,
            self.missions,
            self.navigator,
            self.orbits,
            self.flight,
            clock,
            origin,
            outbox,
        )
        self.offboard = Offboard(
            status, self.commander.take_requests, not_allocated(fleet), clock, outbox
        )
        self._grippers.on_order = self.offboard.set_actuator
        self.balance = Balance(fleet, self.offboard.own)
        self.failures = Failures(fleet.rotor_mask)
        self.actuator_test = ActuatorTest((fleet.n, fleet.rotor_mask.shape[1]))
        self._health = Health(
            status, estimator, self.battery, self.failsafes, self.commander, self.missions, clock
        )

    @classmethod
    def for_scenario(cls, context: AutopilotContext) -> "EmbeddedAutopilot":
        """The flight stack of a scenario's fleet."""
        scenario, fleet, folder = context.scenario, context.fleet, context.folder
        classes = interfaces.classes(**scenario.settings(EmbeddedOptions).parts())
        autopilot = cls(
            fleet,
            context.origin,
            context.magnetic_field,
            False,
            context.on_text,
            classes,
            scenario.ports,
        )
        autopilot.readings.sensors = context.sensors
        wanted = scenario.settings(EmbeddedOptions).arm_feedforward
        measures = isinstance(autopilot.rate_control, interfaces.UsesFeedback)
        autopilot.balance.on &= wanted == "on" or (wanted == "auto" and not measures)
        try:
            if scenario.origin == "own":
                autopilot.local_origins.begin_at([spec.pos for spec in scenario.vehicles])
            preload(autopilot.parameters, autopilot.missions, scenario, context.origin)
            names = [vehicle.name for vehicle in scenario.vehicles]
            if folder is not None:
                autopilot.parameter_files = [folder / "params" / f"{name}.params" for name in names]
            if folder is not None and scenario.log != "none":
                profile = scenario.log
                if profile == "auto":
                    profile = "full" if fleet.n == 1 else "fleet"
                autopilot._open_log(fleet, names, folder / "ulog", profile)
            for part in (autopilot.parameters, autopilot.missions):
                part.remember_start()
            if context.links:
                autopilot.open_links(
                    read_key(scenario.key) if scenario.key else None, scenario.remote or HERE
                )
        except BaseException:
            autopilot.close()
            raise
        return autopilot

    def _open_log(
        self, fleet: FleetModel, names: Sequence[str], folder: Path, profile: str
    ) -> None:
        logged = Logged(
            self.status,
            self.parameters,
            self.estimator,
            self.battery,
            self.missions,
            self.commands,
            self.clock,
            self.readings,
            self.origin,
            self.local_origins,
        )
        self.log = FleetLog(logged, fleet.n_rotors, names, folder, profile)
        self.outbox.log = self.log

    @property
    def follow_target(self) -> FollowTarget:
        """The task of AUTO.FOLLOW_TARGET, which MAVLink messages feed."""
        task = self.flight.tasks[Mode.FOLLOW_TARGET]
        assert isinstance(task, FollowTarget)
        return task

    def regroup(self, before: "EmbeddedAutopilot", rows: Rows) -> None:
        """Takes over state and open links of the vehicles that were there before; see Regroupable.

        Raises:
            AutopilotError: A port of a new vehicle is in use, or a user-defined part keeps its
                state to itself.
        """
        self.load(regrouped(before.save(), self.save(), rows))
        if before.links is not None:
            self.open_links(before=before.links, rows=rows)
            before.links, before.handlers = None, None

    def open_links(
        self,
        key: bytes | None = None,
        remote: str = HERE,
        before: Links | None = None,
        rows: Rows | None = None,
    ) -> None:
        """Opens the MAVLink links and takes the messages that come in on them.

        Args:
            key: What signs messages; None for no signing.
            remote: IPv4 address of the ground stations.
            before: The links of the fleet before it changed, whose open sockets go on.
            rows: Where the vehicles were in that fleet.
        """
        links = Links(len(self.status), self.streams(), self._ports, key, remote, before, rows)
        links.on_refused = lambda i, text: self.outbox.say(i, WARNING, text)
        self.links, self.handlers, self.outbox.links = links, self.messages(links), links

    def streams(self) -> Streams:
        """The telemetry of this flight stack."""
        return Streams(
            Reported(
                self.status,
                self.parameters,
                self.estimator,
                self.battery,
                self.missions,
                self.failsafes,
                self.commands,
                self.clock,
                self.readings,
                self.origin,
                self.local_origins,
                self._rotor_mask,
                self.outbox.events,
                (self.mount, self.gimbals),
            )
        )

    def messages(self, links: Links) -> Messages:
        """The handlers of messages received on links."""
        outbox, clock = self.outbox, self.clock
        parameters = ParameterProtocol(
            self.parameters, self.parameter_files, outbox, links, self.status, clock
        )
        missions = MissionProtocol(
            self.missions, links.reply, outbox.say, self.missions.current, clock
        )
        downloads = LogDownload(self.log, outbox, links)
        presence = Presence(self.status, self.parameters, self.failures, clock, outbox, links)
        devices = DeviceCommands(
            self.status, self.parameters, self.actuator_test, self.offboard, self._rotor_mask, clock
        )
        commands = Commands(
            self.status,
            self.parameters,
            self.estimator,
            self.commander,
            self.missions,
            self.failures,
            clock,
            self.origin,
            outbox,
            links,
            (parameters, self.mount, self.gimbals, self._grippers, devices, Transitions(self.vtol)),
            (Answers(self.status, clock), self.gimbals),
        )
        set_points = SetPointMessages(
            self.status,
            self.estimator,
            self.offboard,
            self.follow_target,
            self.landings.targets,
            self.failures,
            self.take_pose,
            clock,
            self.local_origins,
            outbox,
        )
        origins = OriginMessages(self.local_origins, self.parameters, clock, outbox, links)
        return Messages(
            outbox,
            commands,
            set_points,
            origins,
            parameters,
            missions,
            FileServer(self.log, self.parameter_files, links),
            downloads,
            presence,
            EventProtocol(outbox.events, links),
            self.gimbals,
            SetupSigning(self.status, outbox, links),
            each_tick=(parameters.step, downloads.step),
            each_check=(missions.step, presence.step),
        )

    def step(self, t_us: int, sensors: SensorBatch) -> np.ndarray:
        """One lockstep step: readings at t_us in, actuator commands (N, A) out."""
        dt = self.clock.advance(t_us)
        self.readings.sensors = sensors
        self.failures.drop_failed_readings(sensors)
        _tell(self.status, self._afloat, self.estimator.records)
        self.estimator.step(sensors, self.parameters.values)
        self.navigator.follow_resets()
        if self.links is not None and self.handlers is not None:
            self.links.receive(t_us, self.handlers.handle)
        self.landings.step()
        events = self.vtol.step(self.clock, sensors, dt)
        events |= self.navigator.step(self.clock, sensors, self.offboard.actuators, dt)
        events |= self.fixed_wing.step(self.clock, sensors, dt, self.commands)
        events |= self.drive.step(self.clock, dt)
        if events:
            self.commander.handle_events()
        self._control(dt)
        if self.clock.any_due(PERIOD_US):
            self._update_checks(self.clock.due(PERIOD_US))
        if self.log is not None:
            self.log.step(t_us)
        if self.links is not None and self.handlers is not None:
            self.links.stream(t_us)
            if t_us % TICK_US == 0:
                self.handlers.tick()
        return self.commands

    def _control(self, dt: float) -> None:
        """Turns the set-points of the modes into actuator commands."""
        status, values = self.status, self.parameters.values
        for feedback in self._feedback:
            feedback.step(status, self.estimator, self.readings.sensors, self.commands, dt)
        if self.clock.any_due(LOOP_US):
            for loop in (self.position_control, self.velocity_control):
                loop.step(status, values, self.estimator, LOOP_S)
        self.vtol.blend()
        for loop in (self.attitude_control, self.rate_control):
            loop.step(status, values, self.estimator, dt)
        self.balance.step(status, self.commands, dt)
        self.mixer.step(status, values, self.estimator, dt, self.commands)
        self.vtol.mix(dt, self.commands)
        self.drive.mix(self.commands)
        finish(
            status,
            self.offboard.actuators,
            self.offboard.own,
            self._rest,
            self.commands,
            self._flying,
        )
        self.mount.apply(self.commands, dt)
        self._rotor_monitor.step(
            self._flying,
            values["FD_ACT_EN"],
            self.commands,
            self.estimator.records,
            self.readings.sensors.accel,
            dt,
            self.failsafes.failed_rotor,
        )
        if self.actuator_test.running:
            self.actuator_test.apply(status["armed"], self.clock.t_us, self.commands)
        self.failures.stop_motors(self.commands)

    def estimates(self) -> Estimates:
        """The current estimates; the arrays are the autopilot's own, not copies."""
        estimator, status = self.estimator, self.status
        return Estimates(
            self.clock.t_us,
            estimator.pos,
            estimator.quat,
            estimator.vel,
            estimator.ang_vel,
            status["armed"],
            status["landed"],
            status["mode"],
            status["ready"],
        )

    def apply(self, set_points: SetPoints) -> None:
        """Takes an Agent's set-points as OFFBOARD ones, and its requests to arm and change mode."""
        self.offboard.apply(set_points)

    def health(self) -> list[dict]:
        """Health of each vehicle, as plain data; see safety/health.py."""
        return self._health.report(None if self.links is None else self.links.health)

    def set_parameter(self, i: int, name: str, value: float) -> None:
        """Sets a parameter of vehicle i."""
        self.parameters.set(i, name, value)

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Resets vehicles to the start of the scenario: disarmed, with a new estimator and log.

        Args:
            mask: (N,) bool, the vehicles; None for all.

        Raises:
            AutopilotError: A user-defined part cannot be reset.
        """
        self._refuse_without_memory()
        super().reset(mask)
        for i in np.arange(len(self.status)) if mask is None else np.flatnonzero(mask):
            self.status["mode_t"][i] = self.clock.epoch_us[i]
            self.outbox.announce(int(i))

    def save(self) -> dict:
        """Returns copies of the complete internal state.

        Raises:
            AutopilotError: A user-defined part cannot be saved.
        """
        self._refuse_without_memory()
        return {name: value for name, value in super().save().items() if name != "log"} | (
            {} if self.log is None else {"log": self.log.save()}
        )

    def load(self, snapshot: Snapshot) -> None:
        """Restores a state of save(); links and clients start again."""
        log = snapshot.get("log")
        names = [name for name in self.MEMORY if name != "log"]
        put(self, names, snapshot)
        if self.log is not None and log is not None:
            self.log.load(log)
        if self.links is not None:
            self.links.restart(self.clock.t_us)

    def _refuse_without_memory(self) -> None:
        for name in PARTS:
            part = getattr(self, name)
            if not isinstance(part, Memory) or part.MEMORY is None:
                raise AutopilotError(
                    f"{name} '{type(part).__module__}:{type(part).__qualname__}' cannot be reset, "
                    "saved or loaded: inherit from xtdrone_core.runs.snapshot.Memory and list its "
                    "state variables in MEMORY"
                )

    def collect_gaps(self, gaps: LogGaps) -> None:
        """Notes there what the disk does not take of the flight logs."""
        if self.log is not None:
            self.log.collect_gaps(gaps)

    def interrupt(self) -> None:
        """Does nothing: this autopilot never waits for a peer."""

    def close(self) -> None:
        """Closes the MAVLink links and the flight logs."""
        if self.log is not None:
            self.log.close()
        if self.links is not None:
            self.links.close()

    def turns_camera(self, i: int) -> bool:
        """Whether vehicle i has a mount that turns its camera; see AimsCameras."""
        return self.mount.turns(i)

    def command_gripper(self, i: int, gripper: int, grab: bool) -> None:
        """Closes or opens a gripper of vehicle i; see CommandsGrippers.

        Raises:
            AutopilotError: It has no such gripper.
        """
        self._grippers.command(i, gripper, grab)

    def aim_camera(self, i: int, position: np.ndarray | None) -> None:
        """Makes the camera mount of vehicle i look at a place; see AimsCameras."""
        self.gimbals.aim(i, int(self.parameters.get(i, "MAV_SYS_ID")), position)

    def take_pose(self, i: int, t_us: int, pos: npt.ArrayLike, quat: npt.ArrayLike) -> None:
        """Takes an externally measured pose, with the simulated time of the measurement.

        Args:
            i: The vehicle.
            t_us: Simulated time [us]; outside the last quarter of a second (another clock)
                it counts as now.
            pos: (3,) centre of gravity, world [m].
            quat: (4,) xyzw, body to world.
        """
        if not 0 <= self.clock.t_us - t_us <= VISION_MAX_AGE_US:
            t_us = self.clock.t_us
        if not self.failures.failed(i, VISION):
            self.estimator.fuse_vision(i, t_us, pos, quat)

    def take_landing_target(self, i: int, t_us: int, pos: npt.ArrayLike) -> None:
        """Takes where the landing target of vehicle i was.

        Args:
            i: The vehicle.
            t_us: Simulated time of the measurement [us].
            pos: (3,) of the target, world [m].
        """
        self.landings.targets.take_position(i, t_us, np.asarray(pos, dtype=float))

    def fly_without(self, i: int, rotor: int) -> None:
        """Takes a rotor (from 0) of vehicle i out of the mixer until the vehicle is disarmed."""
        used = self._rotor_mask[i] & (self._rotor_numbers != rotor)
        self.mixer.use_rotors(i, used)
        describe_lost_rotors(self.status, self._fleet, i, used)

    def _update_checks(self, due: np.ndarray) -> None:
        """Updates at 10 Hz: parameters, battery, failsafes, targets, arming checks.

        Args:
            due: (N,) bool, the vehicles meant.
        """
        status, sensors = self.status, self.readings.sensors
        if self.links is not None and self.handlers is not None:
            if self.clock.t_us % _FORGET_PEERS_US == 0:
                self.links.forget_silent_peers(self.clock.t_us)
            self.handlers.check()
        self._constraints.step()
        whole = bool(due.all())  # a slice copies no records
        self.battery.step(
            status["armed"],
            sensors.battery_voltage,
            sensors.battery_current,
            thrust_normalised(status),
            PERIOD_US * 1e-6,
            slice(None) if whole else due,
        )
        self.failures.empty_batteries(self.battery.level)
        # In PX4's order: it reports checks first, and acts on them then.
        changes = self.failsafes.check(None if whole else due)
        self.arming_checks.step(due)
        self.failsafes.act(changes)
        self.follow_target.step(due)
        status["ready"] = np.where(
            due, self.arming_checks.ready & self.estimator.ready, status["ready"]
        )
        self.commander.move_home(due)
