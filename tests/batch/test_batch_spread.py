"""A batch over processes and Ray actors gives the bytes of one process."""

import multiprocessing

import numpy as np
import pytest

from xtdrone_batch.errors import BatchError
from xtdrone_batch.randomisation import Randomisation
from xtdrone_batch.simulation import BatchSimulation
from xtdrone_batch.spread import SpreadBatch

GIVEN = {
    "vehicles": "iris@0,0,9; crazyflie@3,0,9",
    "environments": 5,
    "seed": 4,
    "wind": "mean=2,0,0 dryden=5",
    "randomisation": Randomisation(pos=(1.0, 1.0, 1.0), tilt=0.3, mass=0.1),
}


def fly(batch):
    """The state after some steps and a reset of one environment, as bytes."""
    action = np.random.default_rng(0).normal(0.0, 1.0, (5, 2, 4))
    for k in range(20):
        if k == 10:
            batch.reset(np.arange(5) == 3)
        batch.step(action)
    return [array.tobytes() for array in batch.state]


@pytest.mark.long
@pytest.mark.parametrize("ray", ["", "local"])
def test_the_same_bytes(ray):
    if ray:
        pytest.importorskip("ray")
    alone = fly(BatchSimulation(**GIVEN))
    with SpreadBatch(**GIVEN, workers=3, ray=ray) as batch:
        assert fly(batch) == alone
        with pytest.raises(BatchError, match="environment 4, vehicle 1 has vz = inf"):
            batch.step(np.where(np.arange(40).reshape(5, 2, 4) == 38, np.inf, 0.0))
    if ray:
        import ray as cluster

        cluster.shutdown()


@pytest.mark.slow
def test_bad_workers():
    with pytest.raises(BatchError, match="workers = 9 is not allowed: give 1 to 5"):
        SpreadBatch("iris", 5, workers=9)
    with pytest.raises(BatchError, match="irsi"):
        SpreadBatch("irsi", 5)


@pytest.mark.slow
def test_a_worker_that_is_killed_is_reported():
    with SpreadBatch("iris@0,0,9", 2) as batch:
        worker, *_ = multiprocessing.active_children()
        worker.kill()
        worker.join()
        with pytest.raises(BatchError, match="a worker of the batch has ended"):
            batch.step(np.zeros((2, 1, 4)))
