"""The error of an interface whose library is missing."""

from xtdrone_batch.errors import BatchError


def needs(package: str, extra: str, error: ImportError) -> BatchError:
    """Returns the error, in a line.

    Args:
        package: Its name for pip.
        extra: Extra of this project that installs it.
        error: Python's own error.
    """
    return BatchError(
        f"this interface needs the Python package {package} ({error}): pip install "
        f"'xtdrone[{extra}]'"
    )
