"""What the parts of the flight stack share: records, time, answers, events and messages."""
