import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.spatial.transform import Rotation

from xtdrone_dynamics import quaternion as q

RNG = np.random.default_rng(1)
QUATS = Rotation.random(50, random_state=1).as_quat()
VECTORS = RNG.normal(size=(50, 3))


def test_rotation_and_its_inverse_agree_with_scipy():
    rotations = Rotation.from_quat(QUATS)
    np.testing.assert_allclose(q.rotate_array(QUATS, VECTORS), rotations.apply(VECTORS), atol=1e-13)
    np.testing.assert_allclose(
        q.rotate_inverse_array(QUATS, VECTORS), rotations.apply(VECTORS, inverse=True), atol=1e-13
    )
    np.testing.assert_allclose(q.to_matrix_array(QUATS), rotations.as_matrix(), atol=1e-13)


def test_product_agrees_with_scipy():
    other = QUATS[::-1]
    product = (Rotation.from_quat(QUATS) * Rotation.from_quat(other)).as_matrix()
    np.testing.assert_allclose(
        q.to_matrix_array(q.multiply_array(QUATS, other)), product, atol=1e-13
    )


def test_one_row_is_broadcast_over_many():
    np.testing.assert_allclose(
        q.rotate_array(QUATS[:1], VECTORS), Rotation.from_quat(QUATS[0]).apply(VECTORS), atol=1e-13
    )


def test_euler_angles_are_rz_ry_rx_and_come_back():
    euler = RNG.uniform(-1.5, 1.5, size=(50, 3))
    quat = q.from_euler_array(euler)
    np.testing.assert_allclose(
        q.to_matrix_array(quat), Rotation.from_euler("xyz", euler).as_matrix(), atol=1e-13
    )
    np.testing.assert_allclose(q.to_euler_array(quat), euler, atol=1e-12)


def test_pitch_stays_real_straight_up():
    _roll, pitch, _yaw = q.to_euler(0.0, math.sqrt(0.5) + 1e-16, 0.0, math.sqrt(0.5))
    assert pitch == pytest.approx(math.pi / 2, abs=1e-7)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1), (1, -2, 0.1)])
@pytest.mark.parametrize("angle", [1e-9, 0.5, 2.0, math.pi - 1e-9, math.pi])
def test_matrix_to_quaternion_near_half_turns(axis, angle):
    rotation = Rotation.from_rotvec(angle * np.array(axis) / np.linalg.norm(axis))
    back = q.from_matrix_array(rotation.as_matrix()[None])
    assert back[0, 3] >= 0.0
    np.testing.assert_allclose(q.to_matrix_array(back)[0], rotation.as_matrix(), atol=1e-13)


@given(st.tuples(*[st.floats(-50, 50)] * 3), st.floats(1e-6, 0.1))
def test_integration_is_the_exponential_map(rate, dt):
    start = QUATS[0]
    expected = Rotation.from_quat(start) * Rotation.from_rotvec(np.array(rate) * dt)
    found = q.integrate(*start, *rate, dt)
    np.testing.assert_allclose(
        Rotation.from_quat(found).as_matrix(), expected.as_matrix(), atol=1e-9
    )
    assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-12)
