"""Tasks for learning, over BatchSimulation, with Gymnasium's interfaces.

    import gymnasium, xtdrone_gym

    env = gymnasium.make_vec("xtdrone/Position-v0", num_envs=1024)

An import registers the tasks, in whatever order the two are imported;
gymnasium.make("xtdrone_gym:xtdrone/Position-v0") does so itself. Tasks, TaskBatch, policies and
`xtdrone learn` do without Gymnasium, and do not load it.
"""

from xtdrone_core.lazy import after_import


def _register() -> None:
    """Registers the tasks with Gymnasium."""
    import gymnasium

    from .tasks import TASKS

    for name in TASKS:
        gymnasium.register(
            f"xtdrone/{name}",
            entry_point="xtdrone_gym.interfaces.single_env:BatchEnv",
            vector_entry_point="xtdrone_gym.interfaces.vector_env:BatchVectorEnv",
            kwargs={"task": name},
            disable_env_checker=True,
        )


after_import("gymnasium", _register)
