"""Ground layer of the flight stack: records, time, answers, events and outgoing messages."""
