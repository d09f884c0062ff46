"""Plans of campaigns from command lines."""

import argparse

from xtdrone_campaign import commands, plan


def made(*words):
    """The plan of `xtdrone campaign WORDS`."""
    parser = argparse.ArgumentParser()
    commands.register(parser.add_subparsers())
    return plan.make(parser.parse_args(["campaign", *words]))
