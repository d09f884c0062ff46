"""Why a landing was aborted or fixed-wing flight given up: PX4's numbers, words and events."""

# Why a landing was aborted: abort_status of PX4's position_controller_landing_status.
ABORTED_BY_OPERATOR, ABORTED_WITHOUT_TERRAIN, ABORTED_TERRAIN_LOST = 1, 2, 3
# Their words, and the end of PX4's name of their event.
ABORTED_LANDINGS = {
    ABORTED_BY_OPERATOR: (" by operator", "operator_abort"),
    ABORTED_WITHOUT_TERRAIN: (": terrain measurement not found", "terrain_not_found"),
    ABORTED_TERRAIN_LOST: (": terrain estimate timed out", "terrain_timeout"),
}

# Why fixed-wing flight was given up (quadchute): in words, and in the name of PX4's event.
NO_QUADCHUTE, BY_COMMAND, TOO_LOW, DESCENT, LOSS_IN_TRANSITION, PITCHED, ROLLED, TIMEOUT = range(8)
QUADCHUTES = {
    BY_COMMAND: ("external command", "ext_cmd"),
    TOO_LOW: ("minimum altitude breach", "min_alt"),
    DESCENT: ("uncommanded descent detection", "alt_loss"),
    LOSS_IN_TRANSITION: ("loss of altitude during transition", "trans_alt_err"),
    PITCHED: ("maximum pitch angle exceeded", "max_pitch"),
    ROLLED: ("maximum roll angle exceeded", "max_roll"),
    TIMEOUT: ("transition timeout", "tout"),
}
