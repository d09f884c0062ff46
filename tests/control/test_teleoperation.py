"""The published teleoperation: references, PID, hover and steps, gains, records, the Agent."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import xtdrone as xd
from xtdrone_control.errors import TeleoperationError
from xtdrone_control.teleoperation import agent, gains, record
from xtdrone_control.teleoperation.control import MAX_TILT, pid, reference
from xtdrone_control.teleoperation.gains import TABLE_2
from xtdrone_control.teleoperation.simulator import TABLE_1, simulate

HEIGHT, YAW, PITCH, ROLL = range(4)
HIGH = (0.0, 0.0, 2.0) + (0.0,) * 9


def held(axis, begin_s, end_s, value, seconds=10.0):
    sticks = np.zeros((round(seconds * 1000), 4))
    sticks[round(begin_s * 1000) : round(end_s * 1000), axis] = value
    return sticks


def test_references_add_up_or_follow_and_are_bounded():
    assert reference(HEIGHT, 1.0, -0.5, 0.0028) == pytest.approx(1.0 - 0.0014)
    assert reference(HEIGHT, 0.001, -1.0, 0.0028) == 0.0
    assert reference(YAW, -8.0, -1.0, 0.0027) == pytest.approx(-8.0027)
    assert reference(PITCH, 0.3, 0.5, 0.9879) == pytest.approx(0.49395)
    assert reference(ROLL, 0.3, 0.0, 0.303) == 0.0
    assert reference(PITCH, 0.0, -1.0, 2.0) == -MAX_TILT


def test_a_pid_is_the_sum_of_its_parts():
    assert pid(0.2, 0.1, 0.5, 2.0, 3.0, 0.01, 1e-3) == pytest.approx(
        (0.4 + 3.0 * 0.5002 + 0.01 * 100.0, 0.5002)
    )


@pytest.mark.slow
def test_hover_with_tables_1_and_2_stays_where_it_is():
    flown = simulate(np.zeros((10_000, 4)), TABLE_2, start=HIGH)
    assert np.abs(flown.states - np.array(HIGH)).max() < 1e-12
    assert flown.commands[:, 0] == pytest.approx(0.225 * 9.81)


def test_the_stick_of_height_climbs_by_its_speed_and_never_below_the_floor():
    flown = simulate(held(HEIGHT, 1, 3, 0.5), TABLE_2, start=HIGH)
    assert flown.references[-1, HEIGHT] == pytest.approx(2.0 + 2000 * 0.0028 * 0.5)
    assert flown.states[-1, 2] == pytest.approx(flown.references[-1, HEIGHT], abs=0.01)
    down = simulate(held(HEIGHT, 0, 3, -1.0), TABLE_2, start=HIGH)
    assert down.references[:, HEIGHT].min() == 0.0


def test_the_stick_of_yaw_turns_by_its_speed():
    flown = simulate(held(YAW, 1, 2, 1.0), TABLE_2, start=HIGH)
    assert flown.states[-1, 5] == pytest.approx(2.7, abs=1e-3)
    assert flown.states[1500:1900, 11] == pytest.approx(2.7, abs=0.02)


@pytest.mark.parametrize("axis, place, acceleration", [(PITCH, 4, 6), (ROLL, 3, 7)])
def test_a_step_of_tilt_is_the_closed_form_of_the_linear_loop(axis, place, acceleration):
    """I a'' + (b + d) a' + p a + i int a = d r' + p r + i int r, exact as the step goes to 0."""
    from scipy.signal import TransferFunction, lsim

    k, p, i, d = TABLE_2[axis]
    value, steps = 0.3, 8000
    flown = simulate(held(axis, 0, 8, value, 8), TABLE_2, start=HIGH)
    # Held from the first step on: the difference of the first two errors has no jump of r.
    loop = TransferFunction([p, i], [TABLE_1[1], TABLE_1[7] + d, p, i])
    _, exact, _ = lsim(loop, np.full(steps, k * value), np.arange(steps) * 1e-3)
    assert np.abs(flown.states[:, place] - exact).max() < 2e-3 * k
    assert flown.states[-1, acceleration] * (1 if axis == PITCH else -1) > 0.1


def test_a_gain_beyond_euler_diverges_and_one_below_does_not():
    """Of the derivative: I / dt = 5 N m s/rad, as the facts of the paper's method have it."""
    for d, diverges in ((3.0, False), (5.6, True)):
        tuned = TABLE_2.copy()
        tuned[ROLL] = (0.3, 0.1, 0.0, d)
        with np.errstate(all="ignore"):
            flown = simulate(held(ROLL, 0.1, 1, 0.5, 2), tuned, start=HIGH)
        largest = np.abs(flown.states[:, 3]).max()
        assert (not largest < 1.0) == diverges


def test_gains_are_written_and_read_again(tmp_path):
    path = gains.write(tmp_path / "gains.yaml", {"yaw": np.array([1e-3, 2.0, 0.0, 1e-12])}, 0.12)
    read, delay = gains.read(path)
    assert read[YAW].tolist() == [1e-3, 2.0, 0.0, 0.0] and delay == 0.12
    assert (read[PITCH] == TABLE_2[PITCH]).all()
    (tmp_path / "other.yaml").write_text("mine: 1\n")
    with pytest.raises(TeleoperationError, match="is left alone"):
        gains.write(tmp_path / "other.yaml", {})


@pytest.mark.parametrize(
    "text, said",
    [
        ("- 1", "give a mapping of height"),
        ("yow: {}", "did you mean 'yaw'"),
        ("yaw: {k: 1}", "yaw needs k, p, i, d"),
        ("yaw: {k: 1, p: -1, i: 0, d: 0}", "yaw: p is -1"),
        ("yaw: {k: 1, p: x, i: 0, d: 0}", "yaw: p is 'x'"),
        ("delay: 2", "delay is 2"),
    ],
)
def test_gains_that_cannot_be_flown_are_refused(tmp_path, text, said):
    path = tmp_path / "gains.yaml"
    path.write_text(text)
    with pytest.raises(TeleoperationError, match=said):
        gains.read(path)


HEADER = "t,stick_up,stick_yaw,stick_forward,stick_right,height,yaw,pitch,roll\n"


def rows(count, **changed):
    names = HEADER.strip().split(",")
    for k in range(count):
        row = dict.fromkeys(names, 0.0) | {"t": 0.1 * k}
        yield ",".join(str(changed.get(name, {}).get(k, row[name])) for name in names)


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "none of the columns t, Uyaw and offsetTime"),
        ("t,stick_up\n0,0\n", "no column 'stick_yaw'"),
        (HEADER + "\n".join(rows(30, pitch={4: "nan"})), "pitch is nan in line 6"),
        (HEADER + "\n".join(rows(30, pitch={4: "x"})), "pitch is 'x' in line 6"),
        (HEADER + "\n".join(rows(30, t={4: 0.1})), "time does not increase at sample 5"),
        (HEADER + "\n".join(rows(30, stick_up={4: 3})), "a stick is 3"),
        (HEADER + "\n".join(rows(5)), "has 0.4 s"),
        (HEADER, "has 0 s"),
    ],
)
def test_a_record_that_cannot_be_used_is_one_line(tmp_path, text, said):
    path = tmp_path / "flight.csv"
    path.write_text(text)
    with pytest.raises(TeleoperationError) as error:
        record.read(path)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_tello_and_a_datcon_log_of_one_motion_are_the_same_record(tmp_path):
    tello, datcon = tmp_path / "tello.txt", tmp_path / "FLY001.csv"
    tello.write_text(
        "timestamp,Uyaw,Uz,Ux,Uy,pitch,roll,yaw,tof\n"
        + "".join(f"{5000 + 100 * k},{k},20,-30,40,5,{k},{170 + k},150\n" for k in range(20))
    )
    angles = ",".join(f"IMU_ATTI(0):{angle}" for angle in ("roll", "pitch", "yaw"))
    datcon.write_text(
        "offsetTime,RC:Aileron,RC:Elevator,RC:Rudder,RC:Throttle,"
        f"General:relativeHeight,{angles}\n"
        + "-1,,,,,,,,\n"
        + "".join(
            f"{0.1 * k:.1f},-3000,2000,{100 * k},4000,{'' if k else 1.5},{k},5,"
            f"{(350 + k) % 360 - 180}\n"
            for k in range(20)
        )
    )
    one, two = record.read(tello), record.read(datcon)
    assert one.t_s == pytest.approx(two.t_s) and one.sticks == pytest.approx(two.sticks)
    assert one.motion == pytest.approx(two.motion)
    assert one.sticks[3] == pytest.approx((0.4, -0.03, 0.2, -0.3))
    assert one.motion[0] == pytest.approx(
        (1.5, math.radians(-170), math.radians(-5), 0.0), abs=1e-9
    )
    assert np.diff(one.motion[:, YAW]) == pytest.approx(math.radians(-1), abs=2e-3)  # no jumps


def test_a_log_of_px4_without_sticks_is_refused():
    with pytest.raises(TeleoperationError, match="no manual_control_setpoint"):
        record.read("tests/data/px4_hover.ulg")


@given(st.integers(0, 10_000))
def test_samples_are_held_until_the_next(seed):
    rng = np.random.default_rng(seed)
    t_s = np.append(0.0, np.cumsum(rng.uniform(0.01, 0.5, 8)))
    values = rng.uniform(-1, 1, (9, 4))
    steps = record.Record(t_s, values, values).each_step()
    k = rng.integers(len(steps.t_s))
    before = np.flatnonzero(t_s <= steps.t_s[k] + 1e-9)[-1]
    assert (steps.sticks[k] == values[before]).all()


@pytest.mark.slow
def test_the_agent_flies_the_script_as_the_offline_simulator_does():
    states, events = [], []
    scenario = xd.Scenario(vehicles="tello", gps="rtk")
    flown = agent.TeleoperationAgent(
        1, on_event=lambda t_us, name, **values: events.append((name, t_us))
    )
    with xd.Simulation(scenario, agent=flown) as simulation:
        while not simulation.done:
            simulation.step()
            states.append(
                (
                    simulation.state.t_us,
                    simulation.state.pos[0, 2].item(),
                    *simulation.state.quat[0],
                )
            )
    when = dict(events)
    assert "landed" in when
    table = np.array(states)
    chosen = (table[:, 0] >= when["airborne"]) & (table[:, 0] < when["airborne"] + 16e6)
    from xtdrone_dynamics.euler_zxy import from_quaternion

    angles = np.array([from_quaternion(*row) for row in table[chosen, 2:]])
    wanted = simulate(agent.script(), TABLE_2, start=HIGH).axes
    wanted = wanted[((table[chosen, 0] - when["airborne"]) * 1e-3).astype(int)]
    turned = np.unwrap(angles[:, 2])
    assert turned[-1] - turned[0] == pytest.approx(0.81, abs=0.05)
    for column, axis, maximum in ((1, PITCH, 0.02), (0, ROLL, 0.04)):
        assert np.abs(angles[:, column] - wanted[:, axis]).max() < maximum
    assert table[chosen, 1][-1] - table[chosen, 1][0] == pytest.approx(0.7, abs=0.2)
