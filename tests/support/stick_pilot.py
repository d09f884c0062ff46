"""A program that holds the sticks of the page: it flies laps of a track as a person would.

It sees what the page shows, the vehicle's pose and velocity, presses buttons of the page and of a
gamepad, and moves its axes. In ALTCTL the right stick is tilt, the left one climbs.
"""

import math
import time
from pathlib import Path

import numpy as np

import browser
from web_simulation import serving
from xtdrone_core.racing.track import read_track
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import to_euler
from xtdrone_guidance.fields import VectorField
from xtdrone_guidance.lap_path import lap_points
from xtdrone_guidance.paths import SplinePath

GAMEPAD = """(() => { window.gamepad = { id: 'test', connected: true, mapping: 'standard',
    axes: [0, 0, 0, 0], buttons: Array.from({ length: 16 }, () => ({ pressed: false, value: 0 })) };
    navigator.getGamepads = () => [window.gamepad]; })()"""
# Moves the axes; what the page shows then: time, position, velocity, attitude.
MOVE = """(axes) => { gamepad.axes = axes; const all = (name, n) => [...Array(n).keys()].map(
    (k) => station.frame.get(0, name, k));
    return [station.frame.t, all('pos', 3), all('vel', 3), all('quat', 4)]; }"""
LAPS = "station.panel.race.state.vehicles[0].laps.length"
SPEED, ACCELERATION = 3.0, 2.0  # largest on the path [m/s], and across and along it [m/s^2]
TAKE_OFF, HOLD = 0, 4  # buttons of the gamepad
ASKED = 10  # times that it asks for the mode
BEFORE, AT = 2.0, 0.3  # how far ahead of gate 1 it begins, and how near to that [m]; or m/s
PERIOD_S = 0.02  # between two movements of the sticks
GAIN = 2.5  # acceleration for each m/s that the velocity is off [1/s]
# Climb for each metre of height error [1/s], and the lag with which it follows its stick [s].
CLIMB_GAIN, CLIMB_LAG_S = 0.8, 0.6
STEEPEST = math.tan(math.radians(35.0))  # tilt of the full stick, MPC_MAN_TILT_MAX
CLIMB, SINK = 3.0, 1.5  # of the full stick, MPC_Z_VEL_MAX_UP and MPC_Z_VEL_MAX_DN [m/s]
DEAD_PAGE, DEAD_STICK = 0.04, 0.1  # dead bands of the page's gamepad and of the throttle


def axis(value: float, dead: float) -> float:
    """Returns where an axis stands for a value, -1..1, of which `dead` around 0 is not felt."""
    value = min(max(value, -1.0), 1.0)
    return 0.0 if value == 0.0 else math.copysign(dead + (1.0 - dead) * abs(value), value)


class StickPilot:
    """Flies the laps of a track on a page.

    Attributes:
        page: The page.
        field: The VectorField whose velocity it flies.
    """

    def __init__(self, page, track: str):
        """Learns the track.

        Args:
            page: The station's page, its vehicle ready on the ground.
            track: Name of the track.
        """
        self.page = page
        path = SplinePath(lap_points(read_track(track)), closed=True)
        self.field = VectorField(path, SPEED, ACCELERATION)
        self._near = path.length - BEFORE  # where on the path it is [m]
        self._races = False  # it comes to that place first

    def take_off(self) -> None:
        """Takes the sticks, takes off by a button and changes to ALTCTL.

        Raises:
            AssertionError: It does not change.
        """
        page = self.page
        page.click("#vehicles li:nth-child(1) button")
        page.click("#t-sticks")
        page.evaluate(GAMEPAD)
        page.select_option("#input", "gamepad")
        page.click("#fly")
        self._press(HOLD)
        self._press(TAKE_OFF)
        browser.until(page, "station.frame.get(0, 'pos', 2) > 2.0")
        for _ in range(ASKED):  # again, as a person would, where it is refused
            page.click("#stickmodes [data-mode=ALTCTL]")
            page.wait_for_timeout(1000)
            if page.evaluate("station.scene.modes[station.frame.get(0, 'mode')]") == "ALTCTL":
                return
        raise AssertionError(f"not in ALTCTL after {ASKED} clicks")

    def fly(self, laps: int, limit_s: float) -> None:
        """Flies so many laps.

        Raises:
            AssertionError: It has not within a time [s] of the simulation.
        """
        axes, end = [0.0] * 4, None
        while self.page.evaluate(LAPS) < laps:
            t, *seen = self.page.evaluate(MOVE, axes)
            end = end or t + limit_s
            assert t < end, f"not {laps} laps within {limit_s:g} s: {self.page.evaluate(LAPS)}"
            axes = self._axes(*map(np.array, seen))
            time.sleep(PERIOD_S)

    def hold(self) -> None:
        """Lets go of the dead-man button: the vehicle holds its position."""
        self.page.evaluate(f"gamepad.axes = [0, 0, 0, 0]; gamepad.buttons[{HOLD}].pressed = false")

    def _axes(self, pos, vel, quat) -> list[float]:
        """Returns yaw, throttle, roll and pitch of the gamepad: ahead is negative."""
        wanted, change = self._wanted(pos, vel)
        acc = (change + GAIN * (wanted - vel)) / (GRAVITY * STEEPEST)
        yaw = to_euler(*quat)[2]
        forward = math.cos(yaw) * acc[0] + math.sin(yaw) * acc[1]
        left = math.cos(yaw) * acc[1] - math.sin(yaw) * acc[0]
        climb = wanted[2] / (CLIMB if wanted[2] > 0.0 else SINK)
        throttle = axis(axis(climb, DEAD_STICK), DEAD_PAGE)
        return [0.0, -throttle, axis(-left, DEAD_PAGE), -axis(forward, DEAD_PAGE)]

    def _wanted(self, pos, vel) -> tuple[np.ndarray, np.ndarray]:
        """Returns the velocity to fly and its change: to the beginning, and then by the field."""
        away = self.field.path.at(self._near).pos - pos
        self._races |= np.linalg.norm(away) < AT and np.linalg.norm(vel) < AT
        if not self._races:
            return away / max(1.0, np.linalg.norm(away)), np.zeros(3)
        wanted = self.field.at(pos, self._near)
        self._near = wanted.nearest.arc_length
        ahead = self.field.path.at(self._near + CLIMB_LAG_S * np.linalg.norm(vel))
        climb = self.field.speed_at(ahead.arc_length) * ahead.tangent[2]
        wanted.vel[2] = climb + CLIMB_GAIN * (wanted.nearest.pos[2] - pos[2])
        return wanted.vel, wanted.acc

    def _press(self, button: int) -> None:
        self.page.evaluate(f"gamepad.buttons[{button}].pressed = true")


def fly_laps(context, folder: Path, laps: int) -> Path:
    """Flies laps of `eight` by the sticks of a page of a simulation of its own.

    Args:
        context: Of browser.browser().
        folder: Of the simulation's runs.
        laps: How many.

    Returns:
        The folder of the run.
    """
    with serving(folder, "--track", "eight", "--gps", "rtk") as station:
        page, errors = browser.opened(context, station.url, most=8)
        page.evaluate("station.pace.choose('0')")
        browser.until(page, "station.frame && station.frame.get(0, 'ready')")
        pilot = StickPilot(page, "eight")
        pilot.take_off()
        pilot.fly(laps, 30.0 * (laps + 1))
        pilot.hold()
        page.close()
    assert errors == []
    return station.folder
