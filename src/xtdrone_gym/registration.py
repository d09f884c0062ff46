"""Makes the tasks known to Gymnasium, which calls this where it is first imported."""


def register() -> None:
    """Registers xtdrone/NAME of all tasks."""
    from gymnasium.envs.registration import register as add

    from .tasks import TASKS

    for name in TASKS:
        add(f"xtdrone/{name}", entry_point="xtdrone_gym.single_env:BatchEnv",
            vector_entry_point="xtdrone_gym.vector_env:BatchVectorEnv", kwargs={"task": name},
            disable_env_checker=True)
