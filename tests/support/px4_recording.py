"""The recorded simulator link of a real PX4: its sensor messages and the truth, in our units."""

import gzip
import math
import os
import struct

import numpy as np

os.environ["MAVLINK20"] = "1"

from pymavlink.dialects.v20 import common as mavlink

_FRD = np.array([1.0, -1.0, -1.0])  # FRD to FLU and back
_FRESH = {"mag": 0x1C0, "baro": 0x1A00}  # bits of fields_updated


def messages(path):
    """Messages of the simulator to PX4, in order; those of PX4 are left out."""
    data = gzip.open(path).read()
    parser = mavlink.MAVLink(None)
    parser.robust_parsing = True
    at = 0
    while at < len(data):
        direction, length = struct.unpack_from("<BI", data, at)
        at += 5
        if direction == 0:
            yield from parser.parse_buffer(data[at : at + length]) or []
        at += length


def fill(batch, message):
    """Puts a HIL_SENSOR into row 0 of a SensorBatch, or adds a HIL_GPS to the same step."""
    if message.get_type() == "HIL_GPS":
        batch.gps_new[0] = True
        batch.gps_t_us[0] = message.time_usec
        batch.gps_lat[0], batch.gps_lon[0] = (
            math.radians(x * 1e-7) for x in (message.lat, message.lon)
        )
        batch.gps_alt[0] = message.alt * 1e-3
        batch.gps_vel[0] = np.array([message.ve, message.vn, -message.vd]) * 1e-2
        batch.gps_eph[0], batch.gps_epv[0] = message.eph * 1e-2, message.epv * 1e-2
        batch.gps_fix[0], batch.gps_sats[0] = message.fix_type, message.satellites_visible
        return
    m = message
    batch.t_us = m.time_usec
    batch.gps_new[0] = False
    batch.gyro[0] = _FRD * (m.xgyro, m.ygyro, m.zgyro)
    batch.accel[0] = _FRD * (m.xacc, m.yacc, m.zacc)
    batch.mag_new[0] = m.fields_updated & _FRESH["mag"] == _FRESH["mag"]
    batch.baro_new[0] = m.fields_updated & _FRESH["baro"] == _FRESH["baro"]
    if batch.mag_new[0]:
        batch.mag[0] = _FRD * (m.xmag, m.ymag, m.zmag) * 1e-4
    if batch.baro_new[0]:
        batch.baro_pressure[0] = m.abs_pressure * 100.0
        batch.baro_temperature[0] = m.temperature + 273.15


def steps(path):
    """Lists of the messages of one step each: HIL_SENSOR first, then what follows it."""
    step = []
    for message in messages(path):
        kind = message.get_type()
        if kind == "HIL_SENSOR" and step:
            yield step
            step = []
        if step or kind == "HIL_SENSOR":
            step.append(message)
    yield step


def truth_quat(message):
    """HIL_STATE_QUATERNION's attitude (wxyz, FRD to NED) as xyzw, FLU to ENU."""
    w, x, y, z = message.attitude_quaternion
    # ENU of NED swaps x and y and turns z over; FLU of FRD turns y and z over.
    h = math.sqrt(0.5)
    return np.array([h * (x + y), h * (x - y), h * (w - z), h * (w + z)])
