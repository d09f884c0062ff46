"""Names of the frames of vehicles and sensors, as in /tf and in headers of messages."""


def frame_name(namespace: str, name: str) -> str:
    """Returns a frame of a vehicle: NAME/name, or name for one without a namespace."""
    return f"{namespace}/{name}".lstrip("/")
