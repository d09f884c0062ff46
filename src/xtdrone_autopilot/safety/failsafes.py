"""What the flight stack does by itself when something fails, as PX4's parameters say.

Conditions of the whole fleet are looked at ten times a second; each acts when
it begins. A graver action takes the place of a milder one, never the other way
round, and a mode that a user chooses ends whatever was in force.
"""

import math
from enum import IntEnum

import numpy as np

from xtdrone_core.modes import ROS_NAME, Mode

from ..estimation.flags import ALIGNED, GPS_USED, POSITION_VALID, VISION_USED
from ..mavlink.dialect import mavlink
from ..navigation.navigator import way_to_stop
from ..vehicle_status import TRAJECTORY

INFO, WARNING, CRITICAL = (mavlink.MAV_SEVERITY_INFO, mavlink.MAV_SEVERITY_WARNING,
                           mavlink.MAV_SEVERITY_CRITICAL)
PERIOD_US = 100_000  # of looking at the conditions [us]


class Action(IntEnum):
    """What a failsafe does, by gravity."""

    NONE = 0
    WARN = 1
    HOLD = 2
    RETURN = 3
    LAND = 4
    DESCEND = 5  # level, without a position
    DISARM = 6
    TERMINATE = 7


_WORDS = {Action.NONE: "nothing", Action.WARN: "warn", Action.HOLD: "hold",
          Action.RETURN: "return", Action.LAND: "land",
          Action.DESCEND: "descend without position", Action.DISARM: "disarm",
          Action.TERMINATE: "terminate"}
_MODE = {Action.HOLD: Mode.LOITER, Action.RETURN: Mode.RTL, Action.LAND: Mode.LAND}

# Values of PX4's parameters.
_LINK_ACTION = {0: Action.NONE, 1: Action.HOLD, 2: Action.RETURN, 3: Action.LAND,
                5: Action.TERMINATE, 6: Action.DISARM}  # NAV_DLL_ACT, NAV_RCL_ACT
_FENCE_ACTION = {0: Action.NONE, 1: Action.WARN, 2: Action.HOLD, 3: Action.RETURN,
                 4: Action.TERMINATE, 5: Action.LAND}  # GF_ACTION
_ROTOR_ACTION = {0: Action.WARN, 1: Action.HOLD, 2: Action.LAND, 3: Action.RETURN,
                 4: Action.TERMINATE}  # COM_ACT_FAIL_ACT
# COM_OBL_RC_ACT; 0, 1 and 2 need sticks.
_OFFBOARD_MODE = {0: Mode.POSCTL, 1: Mode.ALTCTL, 2: Mode.STABILIZED}
_OFFBOARD_ACTION = {3: Action.RETURN, 4: Action.LAND, 5: Action.HOLD, 6: Action.TERMINATE,
                    7: Action.DISARM}
_BATTERY_ACTION = {0: Action.WARN, 2: Action.LAND, 3: Action.RETURN}  # COM_LOW_BAT_ACT
# What decides on the action after each condition, for those who ask.
_DECIDES = {"data_link": ("NAV_DLL_ACT", _LINK_ACTION), "sticks": ("NAV_RCL_ACT", _LINK_ACTION),
            "battery_critical": ("COM_LOW_BAT_ACT", _BATTERY_ACTION),
            "fence": ("GF_ACTION", _FENCE_ACTION), "rotor": ("COM_ACT_FAIL_ACT", _ROTOR_ACTION)}
_EXCEPTIONS = {Mode.MISSION: 1, Mode.LOITER: 2, Mode.TAKEOFF: 2, Mode.OFFBOARD: 4}
_WITHOUT_POSITION = np.array([m in (Mode.MANUAL, Mode.STABILIZED, Mode.ACRO, Mode.ALTCTL)
                              for m in Mode])
_NO_FLIGHT_TERMINATION = 121212  # value of CBRK_FLIGHTTERM

# Conditions, and whether the mode before comes back when one ends during the hold.
CONDITIONS = ("data_link", "sticks", "battery_low", "battery_critical", "battery_emergency",
              "fence", "position", "attitude", "estimator", "rotor")
_RECOVERS = {"data_link": "ground station", "sticks": "manual control"}


class Failsafes:
    """Conditions and actions of a fleet."""

    def __init__(self, autopilot, n: int):
        """Nothing has failed yet."""
        self._a = autopilot
        self._now = np.zeros((len(CONDITIONS), n), dtype=bool)
        self._before = np.zeros_like(self._now)
        self._level = np.zeros(n, dtype=np.int8)  # Action in force
        self._sticks_count = np.zeros(n, dtype=bool)  # manual control was there in this flight
        self._tilted_s = np.zeros((2, n))  # roll, pitch beyond the limit since [s]
        self.fenced = np.zeros(n, dtype=bool)  # there is a geofence, and it acts
        self.outside = np.zeros(n, dtype=bool)  # of it
        self._no_ground_station = np.zeros(n, dtype=bool)
        self._pending = {}  # vehicle -> (condition, Action, mode before)
        self.failed_rotor = np.full(n, -1, dtype=np.int16)  # that the detector has found

    def why_not_arm(self, i: int) -> str:
        """Why vehicle i may not arm as far as failsafes go, or an empty text."""
        if self._no_ground_station[i]:
            return "no ground station is heard, and NAV_DLL_ACT asks for one"
        if self.outside[i]:
            return "it stands outside the geofence: " + self._fence_words(i)
        if self._tilted_s[:, i].any():
            return "it is tilted beyond FD_FAIL_R or FD_FAIL_P: put it upright"
        return ""

    def may_arm(self) -> np.ndarray:
        """(N,) bool, why_not_arm() has nothing to say."""
        return ~(self._no_ground_station | self.outside | self._tilted_s.any(axis=0))

    def active(self) -> np.ndarray:
        """(N,) bool, a failsafe has chosen what the vehicle does."""
        return self._level >= Action.HOLD

    def failing(self, i: int) -> list[str]:
        """The CONDITIONS that hold for vehicle i now."""
        return [name for name, row in zip(CONDITIONS, self._now) if row[i]]

    def answers(self, i: int) -> dict:
        """What parameters of vehicle i say that follows: condition -> word."""
        return {name: _WORDS[self._decided(i, name)] for name in _DECIDES}

    def step(self, t_us: int) -> None:
        """Looks at every condition; call it each PERIOD_US."""
        self._look(t_us)
        begun = self._now & ~self._before
        ended = self._before & ~self._now
        self._before[:] = self._now
        for k, i in np.argwhere(ended):
            self._ended(int(i), CONDITIONS[k])
        for k, i in np.argwhere(begun):
            getattr(self, f"_on_{CONDITIONS[k]}")(int(i))

    def armed(self, i: int) -> None:
        """Vehicle i has just been armed."""
        stick_age = (self._a.t_us - self._a.status["stick_t"][i]) * 1e-6
        self._sticks_count[i] = stick_age <= self._a.parameters.get(i, "COM_RC_LOSS_T")
        self._a.fly_without(i, -1)  # none
        self.taken_over(i)

    def taken_over(self, i: int) -> None:
        """A user has chosen the mode of vehicle i, or it was disarmed."""
        self._level[i] = Action.NONE
        self._pending.pop(i, None)

    def offboard_lost(self, i: int) -> None:
        """Offboard set-points have stopped."""
        a, v = self._a, self._a.status[i]
        if not v["armed"]:
            a.commander.enter(i, Mode.LOITER)
            a.say(i, WARNING, "Offboard set-points stopped: mode AUTO.LOITER")
            return
        delay = a.parameters.get(i, "COM_FAIL_ACT_T")
        a.say(i, CRITICAL, f"Failsafe: offboard set-points lost, hold for {delay:g} s")
        a.commander.enter(i, Mode.LOITER)
        v["failsafe"] = True
        self._pending[i] = ("offboard", Action.HOLD, Mode.LOITER)

    def delay_over(self, i: int) -> None:
        """COM_FAIL_ACT_T has passed since the hold began."""
        self._a.status["failsafe"][i] = False
        condition, action, _ = self._pending.pop(i, ("", Action.NONE, None))
        if condition == "offboard":
            self._after_offboard(i)
        elif action != Action.NONE:
            self._perform(i, action)

    # Conditions -------------------------------------------------------------------------------

    def _look(self, t_us):
        a, p, q = self._a, self._a.status, self._a.parameters.values
        flying = p["armed"] & ~p["landed"]
        now = dict(zip(CONDITIONS, self._now))
        silent = (t_us - p["gcs_t"]) * 1e-6 > q["COM_DL_LOSS_T"]
        self._no_ground_station = silent & (q["NAV_DLL_ACT"] > 0)
        now["data_link"][:] = flying & self._no_ground_station
        self._look_at_sticks(t_us, flying, now["sticks"])
        level = a.battery.level
        for name, limit in (("low", "BAT_LOW_THR"), ("critical", "BAT_CRIT_THR"),
                            ("emergency", "BAT_EMERGEN_THR")):
            row = now[f"battery_{name}"]
            row[:] = flying & ((level < q[limit]) | row)  # a level that recovers is not trusted
        self._look_at_fence(q)
        now["fence"][:] = flying & self.outside
        e = a.estimator
        aided = e.flags & (GPS_USED | VISION_USED) != 0
        by_position = ~_WITHOUT_POSITION[p["mode"]]
        by_position &= (p["mode"] != Mode.OFFBOARD) | (p["offboard_kind"] == TRAJECTORY)
        vague = np.hypot(e.pos_std[:, 0], e.pos_std[:, 1]) > q["COM_POS_FS_EPH"]
        vague &= q["COM_POS_FS_EPH"] >= 0
        located = e.flags & POSITION_VALID != 0
        now["position"][:] = flying & (~aided | vague) & by_position & located
        finite = np.isfinite(e.pos).all(axis=1) & np.isfinite(e.quat).all(axis=1)
        now["estimator"][:] = flying & ~(finite & (e.flags & ALIGNED != 0))
        now["attitude"][:] = flying & self._look_at_tilt(q)
        now["rotor"][:] = flying & (self.failed_rotor >= 0)

    def _look_at_sticks(self, t_us, flying, row):
        p, q = self._a.status, self._a.parameters.values
        lost = (t_us - p["stick_t"]) * 1e-6 > q["COM_RC_LOSS_T"]
        self._sticks_count |= ~lost
        excepted = np.zeros_like(lost)
        for mode, bit in _EXCEPTIONS.items():
            excepted |= (p["mode"] == mode) & (q["COM_RCL_EXCEPT"] & bit != 0)
        row[:] = flying & lost & self._sticks_count & ~excepted

    def _look_at_fence(self, q):
        a, p = self._a, self._a.status
        pos = a.estimator.pos
        if q["GF_PREDICT"].any():
            pos = pos + q["GF_PREDICT"][:, None] * self._way_to_stop(q)
        way = pos - p["home"]
        far = (q["GF_MAX_HOR_DIST"] > 0) & (np.hypot(way[:, 0], way[:, 1]) > q["GF_MAX_HOR_DIST"])
        high = (q["GF_MAX_VER_DIST"] > 0) & (way[:, 2] > q["GF_MAX_VER_DIST"])
        outside = (far | high) & p["home_set"]
        fenced = (q["GF_MAX_HOR_DIST"] > 0) | (q["GF_MAX_VER_DIST"] > 0)
        for i, fence in enumerate(a.missions.fences):
            fenced[i] |= fence is not None
            if fence is not None and a.estimator.flags[i] & POSITION_VALID:
                outside[i] |= not fence.contains(pos[i, 0], pos[i, 1])
        self.outside = outside & (q["GF_ACTION"] > 0)
        self.fenced = fenced & (q["GF_ACTION"] > 0)

    def _way_to_stop(self, q):
        """(N, 3) from each vehicle to where it can come to rest [m]."""
        vel = self._a.estimator.vel
        speed = np.maximum(np.linalg.norm(vel, axis=1), 1e-6)
        along = (self._a.status["acc_filtered"] * vel).sum(axis=1) / speed
        out = vel * (2 * PERIOD_US * 1e-6)  # until the next look, and as much to spare
        for i in np.flatnonzero(q["GF_PREDICT"]):
            out[i] += vel[i] / speed[i] * way_to_stop(speed[i], along[i], q["MPC_ACC_HOR"][i],
                                                      q["MPC_JERK_AUTO"][i])
        return out

    def _look_at_tilt(self, q):
        """(N,) bool, tilted beyond the limits for long enough."""
        x, y, z, w = self._a.estimator.quat.T
        roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
        pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0))
        acro = self._a.status["mode"] == Mode.ACRO
        failed = np.zeros(len(x), dtype=bool)
        for k, (angle, name) in enumerate(((roll, "R"), (pitch, "P"))):
            limit = q[f"FD_FAIL_{name}"]
            beyond = (limit > 0) & (np.abs(np.degrees(angle)) > limit) & ~acro
            self._tilted_s[k] = np.where(beyond, self._tilted_s[k] + PERIOD_US * 1e-6, 0.0)
            failed |= self._tilted_s[k] >= q[f"FD_FAIL_{name}_TTRI"]
        return failed

    # What follows from each -------------------------------------------------------------------

    def _get(self, i, name):
        return self._a.parameters.get(i, name)

    def _decided(self, i, condition):
        """The Action that a parameter of vehicle i asks for."""
        name, table = _DECIDES[condition]
        return table.get(self._get(i, name), Action.WARN)

    def _on_data_link(self, i):
        seconds = self._get(i, "COM_DL_LOSS_T")
        self._act(i, "data_link", self._decided(i, "data_link"),
                  f"no ground station for {seconds:g} s")

    def _on_sticks(self, i):
        self._act(i, "sticks", self._decided(i, "sticks"), "manual control lost")

    def _battery_words(self, i, word):
        return f"battery {word}, {self._a.battery.level[i]:.0%} left"

    def _on_battery_low(self, i):
        self._act(i, "battery_low", Action.WARN, self._battery_words(i, "low"))

    def _on_battery_critical(self, i):
        self._act(i, "battery_critical", self._decided(i, "battery_critical"),
                  self._battery_words(i, "critical"))

    def _on_battery_emergency(self, i):
        acts = self._get(i, "COM_LOW_BAT_ACT") in (2, 3)
        self._act(i, "battery_emergency", Action.LAND if acts else Action.WARN,
                  self._battery_words(i, "at emergency level"), hold=False)

    def _on_fence(self, i):
        self._act(i, "fence", self._decided(i, "fence"),
                  f"geofence broken, {self._fence_words(i)}")

    def _on_position(self, i):
        why = "position lost: " + (self._a.estimator.why_not_ready(i) or "no aid")
        age = (self._a.t_us - self._a.status["stick_t"][i]) * 1e-6
        if self._get(i, "COM_POSCTL_NAVL") == 0 and age <= self._get(i, "COM_RC_LOSS_T"):
            self._a.say(i, CRITICAL, f"Failsafe: {why}: mode ALTCTL")
            self._a.commander.enter(i, Mode.ALTCTL)
            return
        self._act(i, "position", Action.DESCEND, why, hold=False)

    def _on_attitude(self, i):
        action = Action.TERMINATE
        if self._get(i, "CBRK_FLIGHTTERM") == _NO_FLIGHT_TERMINATION:
            action = Action.WARN
        self._act(i, "attitude", action, "attitude failure, tilted beyond FD_FAIL_R or FD_FAIL_P")

    def _on_estimator(self, i):
        self._act(i, "estimator", Action.TERMINATE, "the estimator has failed")

    def _on_rotor(self, i):
        action = self._decided(i, "rotor")
        if self._get(i, "CA_FAILURE_MODE") == 1:
            self._a.fly_without(i, self.failed_rotor[i])
        self._act(i, "rotor", action, f"rotor {self.failed_rotor[i] + 1} has failed", hold=False)

    def _fence_words(self, i):
        way = self._a.estimator.pos[i] - self._a.status["home"][i]
        for name, distance in (("GF_MAX_HOR_DIST", math.hypot(way[0], way[1])),
                               ("GF_MAX_VER_DIST", way[2])):
            limit = self._get(i, name)
            if 0 < limit < distance:
                return f"{distance:.0f} m from home, {name} allows {limit:g} m"
        if self._get(i, "GF_PREDICT") and not self._a.status["landed"][i]:
            return "it would leave the area before it could stop"
        return "it has left the area"

    # Actions ----------------------------------------------------------------------------------

    def _act(self, i, condition, action, why, hold=True):
        a, v = self._a, self._a.status[i]
        if action == Action.NONE:
            return
        under_way = action != Action.HOLD and v["mode"] == _MODE.get(action)
        # Who is landing already does not climb to return, as in PX4.
        under_way |= action == Action.RETURN and v["mode"] == Mode.LAND
        if action == Action.WARN or action <= self._level[i] or under_way:
            a.say(i, CRITICAL if action > Action.WARN else WARNING, f"Warning: {why}")
            self._level[i] = max(self._level[i], action)
            return
        self._level[i] = action
        delay = self._get(i, "COM_FAIL_ACT_T")
        if hold and delay > 0 and action in (Action.RETURN, Action.LAND):
            a.say(i, CRITICAL, f"Failsafe: {why}: hold for {delay:g} s, then {_WORDS[action]}")
            self._pending[i] = (condition, action, Mode(v["mode"]))
            a.commander.enter(i, Mode.LOITER)
            v["failsafe"] = True
            return
        self._pending.pop(i, None)
        v["failsafe"] = False
        a.say(i, CRITICAL, f"Failsafe: {why}: {_WORDS[action]}")
        self._perform(i, action)

    def _perform(self, i, action):
        commander = self._a.commander
        if action in (Action.DISARM, Action.TERMINATE):
            commander.disarm(i, force=True, why="by failsafe")
            return
        aided = self._a.estimator.flags[i] & (GPS_USED | VISION_USED)
        if action == Action.DESCEND or not aided:
            commander.enter(i, Mode.LAND)
            self._a.status["blind"][i] = True
            return
        commander.enter(i, _MODE[action])
        self._a.say(i, CRITICAL, f"Failsafe: mode {ROS_NAME[_MODE[action]]}")

    def _after_offboard(self, i):
        choice = self._get(i, "COM_OBL_RC_ACT")
        action = _OFFBOARD_ACTION.get(choice)
        age = (self._a.t_us - self._a.status["stick_t"][i]) * 1e-6
        if action is None and age <= self._get(i, "COM_RC_LOSS_T"):
            mode = _OFFBOARD_MODE[choice]
            self._a.say(i, CRITICAL, f"Failsafe: mode {ROS_NAME[mode]}")
            self._a.commander.enter(i, mode)
            return
        action = action or Action.RETURN  # PX4's last resort where nobody holds the sticks
        self._level[i] = action
        self._perform(i, action)

    def _ended(self, i, condition):
        pending = self._pending.get(i)
        if pending is None or pending[0] != condition or condition not in _RECOVERS:
            return
        mode = pending[2]
        if mode in (Mode.OFFBOARD, Mode.TAKEOFF):  # its set-points may have stopped as well
            mode = Mode.LOITER
        self.taken_over(i)
        self._a.status["failsafe"][i] = False
        self._a.say(i, INFO, f"The {_RECOVERS[condition]} is back: mode {ROS_NAME[mode]}")
        self._a.commander.enter(i, mode)
