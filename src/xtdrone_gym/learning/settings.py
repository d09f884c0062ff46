"""Numbers of a training and settings of the learner; imports no PyTorch."""

import ast
import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.scenario.options import pair

from ..errors import LearningError

# Numbers of a training: minimum, maximum, whether whole, unit.
NUMBERS: dict[str, tuple[float, float, bool, str]] = {
    "wind": (0.0, 50.0, False, "m/s"),
    "mass": (0.0, 0.9, False, ""),
    "thrust": (0.0, 0.9, False, ""),
    "curriculum": (0.0, 1e12, False, ""),
    "history": (0, 64, True, ""),
    "environments": (1, 1 << 20, True, ""),
}
CHANGES = "wind", "mass", "thrust"  # those of the randomisation


@dataclass(frozen=True)
class Settings:
    """Settings of the learner; the defaults suit every task in tasks/."""

    horizon: int = 32  # steps of each environment in an iteration
    epochs: int = 5  # passes over them
    minibatches: int = 8
    discount: float = 0.98
    gae_lambda: float = 0.95  # of generalised advantage estimation
    clip: float = 0.2
    learning_rate: float = 3e-3  # learning rate of the actor at the start
    critic_learning_rate: float = 6e-3  # learning rate of the critic
    target_kl: float = 0.02  # wanted mean Kullback-Leibler divergence of an update
    entropy_coefficient: float = 0.001
    initial_std: float = 0.3  # standard deviation at first, as a fraction of an action's range
    min_std: float = 0.05
    hidden: tuple[int, ...] = (64, 64)
    recurrent: int = 0  # size of a GRU before the actor's layers; 0 = none
    shaping: float = 1.0  # weight of the change of the task's potential
    asymmetric: bool = True  # the critic sees the truth


SETTINGS = tuple(entry.name for entry in dataclasses.fields(Settings))


def parse(texts: Iterable[str]) -> dict[str, Any]:
    """Returns settings from NAME=VALUE, as the command line takes them.

    Raises:
        LearningError: There is no such setting, or its value is of another kind.
    """
    fields = {entry.name: entry for entry in dataclasses.fields(Settings)}
    values: dict[str, Any] = {}
    for text in texts:
        name, value = pair("set", text)
        if name not in fields:
            raise LearningError(unknown_name("setting", name, fields))
        usual: Any = fields[name].default  # one of the types of Settings
        try:
            given = ast.literal_eval(
                value.strip().capitalize() if isinstance(usual, bool) else value
            )
            kind = type(usual)
            values[name] = tuple(int(n) for n in given) if kind is tuple else kind(given)
        except (ValueError, SyntaxError, TypeError) as error:
            raise LearningError(
                f"{name} = {shown(value)} is not allowed: give a value such as {usual!r}"
            ) from error
    return values
