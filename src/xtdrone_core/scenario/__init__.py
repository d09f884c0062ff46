"""A scenario: what flies, where, on what; its options, on command lines and in launch files."""
