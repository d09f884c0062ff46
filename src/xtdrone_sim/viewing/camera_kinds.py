"""The kinds of camera that look at a fleet, with what each does."""

CAMERAS = {
    "fleet": "frames the fleet from one side",
    "orbit": "goes round the fleet",
    "follow": "flies behind one vehicle",
    "top": "frames the fleet from above",
    "still": "stands still and frames the whole flight",
}
