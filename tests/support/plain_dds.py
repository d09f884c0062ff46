"""A program on Cyclone DDS that knows nothing of this project: which topics it finds in a domain.

    python plain_dds.py DOMAIN SECONDS TOPIC...

It ends as soon as it has found all topics, or prints those that are missing.
"""

import sys
import time

from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
from cyclonedds.domain import DomainParticipant


def main(domain, seconds, *topics):
    """Returns the exit status."""
    participant = DomainParticipant(int(domain))
    reader = BuiltinDataReader(participant, BuiltinTopicDcpsPublication)
    missing, end = {f"rt{topic}" for topic in topics}, time.monotonic() + float(seconds)
    while missing and time.monotonic() < end:
        time.sleep(0.1)
        missing -= {sample.topic_name for sample in reader.take(N=100)}
    print(*sorted(missing))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
