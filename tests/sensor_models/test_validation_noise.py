"""Table I of every preset against the Allan deviation of its streams.

The long form is scripts/validation/sensors.py.
"""

import dataclasses

import pytest

import allan

QUANTITIES = allan.quantities()


@pytest.mark.parametrize("quantity", QUANTITIES, ids=str)
def test_noise_density(quantity):
    found = allan.density(quantity, 20_000, 10)
    assert found.off < 3.0, found
    assert found.value == pytest.approx(found.expected, rel=0.05)
    assert found.error < 0.01 * found.expected


@pytest.mark.slow
@pytest.mark.parametrize("quantity", [q for q in QUANTITIES if q.walks], ids=str)
def test_random_walk_and_correlation_time(quantity):
    # The process is continuous: a longer period than the sensor's shows the same bias.
    dt = max(1.0 / quantity.rate, quantity.noise.bias_correlation_time / 500)
    walk, time, _, _ = allan.bias(quantity, dt, 60, 24)
    for found in (walk, time):
        assert found.off < 3.0, found
        assert found.error < 0.15 * found.expected


def test_a_wrong_parameter_is_found():
    quantity = QUANTITIES[0]
    noise = quantity.noise

    def other(**factors):
        wrong = {name: factor * getattr(noise, name) for name, factor in factors.items()}
        return dataclasses.replace(quantity, noise=dataclasses.replace(noise, **wrong))

    found = allan.density(other(noise_density=1.05), 20_000, 10)
    assert abs(found.value - noise.noise_density) > 3.0 * found.error
    walk, _, _, _ = allan.bias(other(random_walk=1.5), 2.0, 60, 24)
    assert abs(walk.value - noise.random_walk) > 3.0 * walk.error
    _, time, _, _ = allan.bias(other(bias_correlation_time=1.7), 2.0, 60, 24)
    assert abs(time.value - noise.bias_correlation_time) > 3.0 * time.error
