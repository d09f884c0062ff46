"""Tasks for learning, over BatchSimulation, with Gymnasium's interfaces.

    import gymnasium, xtdrone_gym

    env = gymnasium.make_vec("xtdrone/Position-v0", num_envs=1024)

An import registers the tasks where Gymnasium is installed;
gymnasium.make("xtdrone_gym:xtdrone/Position-v0") does so itself.
"""

try:
    import gymnasium
except ModuleNotFoundError:  # tasks, TaskBatch, policies and `xtdrone learn` do without
    pass
else:
    from .tasks import TASKS

    for _name in TASKS:
        gymnasium.register(
            f"xtdrone/{_name}",
            entry_point="xtdrone_gym.interfaces.single_env:BatchEnv",
            vector_entry_point="xtdrone_gym.interfaces.vector_env:BatchVectorEnv",
            kwargs={"task": _name},
            disable_env_checker=True,
        )
