"""Links of the page to a running simulation: MAVLink, the control socket, camera images, events."""
