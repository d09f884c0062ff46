"""The tuning page: logs, searches by `xtdrone tune --json`, and what becomes of their gains."""
