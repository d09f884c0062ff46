"""What real flight stacks have in common: processes, telemetry, set-points."""
