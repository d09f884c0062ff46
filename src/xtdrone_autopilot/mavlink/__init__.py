"""The flight stack's MAVLink links: messages in, telemetry out, files and logs."""
