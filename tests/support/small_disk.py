"""A disk that takes no more, for the time of a block."""

import resource
from contextlib import contextmanager


@contextmanager
def files_end_at(size: int):
    """Stands for a full disk or a quota: no file of this process grows beyond that [bytes].

    After the block the limit is as before, since what pytest itself prints may go to a file.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
