"""Trajectories (TUM, CSV), calibrations, campaigns and adapters of the SLAM benchmark."""

import os
from pathlib import Path

from . import commands, samples
from .common import Kind, mutated_bytes, mutated_text

_ADAPTER = """description: a system
command: [python, -c, pass]
deterministic: true
inputs: [stereo]
parameters: {features: 100, ratio: 0.5}
requirements: []
install: []
"""


class Trajectories(Kind):
    """(name of a file, its content)."""

    def missing(self):
        try:
            import evo  # noqa: F401
        except ImportError:
            return "evo is not installed"
        return ""

    def prepare(self):
        commands.load()
        import evo.core.metrics  # noqa: F401

        import xtdrone_slam.benchmark.plan
        import xtdrone_slam.datasets.importing
        import xtdrone_slam.evaluation.metrics  # noqa: F401

    def start(self, folder):
        os.environ.update(XTDRONE_RUNS=str(folder / "runs"), XTDRONE_SYSTEMS=str(folder / "s"))
        samples.put_samples(folder)
        Path("system").mkdir()

    def make(self, rng, index):
        sources = {
            "given.tum": samples.trajectory(),
            "given.csv": samples.flown(),
            "chain.yaml": samples.CALIBRATION,
            "imu.yaml": samples.IMU,
            "campaign.yaml": samples.CAMPAIGN,
            "system/adapter.yaml": _ADAPTER,
        }
        name = list(sources)[index % len(sources)]
        source = sources[name]
        return name, mutated_text(rng, source) if rng.random() < 0.7 else mutated_bytes(
            rng, source.encode()
        )

    def try_one(self, value):
        from xtdrone_slam.benchmark import adapters, plan
        from xtdrone_slam.datasets import kalibr
        from xtdrone_slam.flight import trajectories

        name, content = value
        samples.write(name, content)
        if name == "given.tum":
            commands.run(["slam", "evaluate", name, "--reference", "est.tum"])
            trajectories.load(name).at(1.0)
        elif name == "given.csv":
            trajectories.load(name).at(1.0)
        elif name == "campaign.yaml":
            plan.load(name)
        elif name == "system/adapter.yaml":
            adapters.load("system")
        else:
            chain, imu = (name, "i.yaml") if name == "chain.yaml" else ("c.yaml", name)
            kalibr.read(Path(chain), Path(imu))


KIND = Trajectories
