"""Systems under test: one small folder each, with an adapter.yaml that says how to start it."""
