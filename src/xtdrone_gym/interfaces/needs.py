"""What an interface says where its library is missing."""

from xtdrone_batch.errors import BatchError


def needs(package: str, extra: str, error: ImportError) -> BatchError:
    """The error, in a line.

    Args:
        package: Its name for pip.
        extra: Of this package, that has it.
        error: What Python said.
    """
    return BatchError(
        f"this interface needs the Python package {package} ({error}): pip install "
        f"'xtdrone[{extra}]'"
    )
