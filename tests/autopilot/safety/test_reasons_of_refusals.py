"""Why a vehicle may not be armed: the true reason, with the parameter that a user has set."""

import pytest

from stack_flights import Flight
from xtdrone_core.mavlink.dialect import mavlink

GPS, MAG = mavlink.FAILURE_UNIT_SENSOR_GPS, mavlink.FAILURE_UNIT_SENSOR_MAG
OFF = mavlink.FAILURE_TYPE_OFF
NO_VISION = "no vision pose has come (EKF2_EV_CTRL 9)"


@pytest.mark.parametrize(
    "parameters, failed, reason",
    [
        (
            dict(EKF2_GPS_CTRL=0, EKF2_EV_CTRL=9),
            (),
            f"GPS is not used: EKF2_GPS_CTRL is 0, and {NO_VISION}",
        ),
        (
            dict(EKF2_GPS_CTRL=0, EKF2_EV_CTRL=0),
            (),
            "EKF2_GPS_CTRL is 0, and vision is not used either: EKF2_EV_CTRL is 0",
        ),
        (
            dict(EKF2_GPS_CTRL=6, EKF2_EV_CTRL=8),
            (),
            "EKF2_GPS_CTRL is 6, 1 is for the position, and vision is not used either: "
            "EKF2_EV_CTRL is 8, 1 is for the position",
        ),
        (dict(EKF2_REQ_EPH=0.1), (), "1.0 m, 0.2 m are allowed by EKF2_REQ_EPH 0.1"),
        (dict(EKF2_REQ_EPV=0.1), (), "1.5 m, 0.2 m are allowed by EKF2_REQ_EPV 0.1"),
        ({}, (GPS,), "no GPS fix has come"),
        ({}, (MAG,), "no reading of the magnetometer has come, which gives the first heading"),
        (dict(EKF2_BARO_CTRL=0), (), ""),
        (dict(EKF2_RNG_CTRL=0, EKF2_ARSP_THR=0.0, EKF2_EV_CTRL=0), (), ""),
    ],
)
@pytest.mark.slow
def test_arming_is_refused_with_the_true_reason(parameters, failed, reason):
    flight = Flight(gps="m8n")
    try:
        for name, value in parameters.items():
            flight.autopilot.parameters.set(0, name, value)
        for unit in failed:
            assert not flight.autopilot.failures.inject(0, unit, OFF, 0)
        flight.run(4.332)
        why = flight.autopilot.commander.checks(0)
        assert why.endswith(reason) if reason else why == ""
        assert flight.autopilot.commander.arm(0, flight.simulation.t_us).accepted == (not reason)
        assert not reason or flight.said[-1] == f"Arming denied: {why}"
    finally:
        flight.simulation.close()


def test_a_source_that_is_switched_off_in_flight_is_named():
    flight = Flight().take_off()
    try:
        flight.autopilot.parameters.set(0, "EKF2_GPS_CTRL", 0)
        flight.run(8)
        assert any(
            text.startswith("Failsafe: position lost") and "EKF2_GPS_CTRL is 0" in text
            for text in flight.said
        ), flight.said
    finally:
        flight.simulation.close()
