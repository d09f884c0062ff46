"""What a camera does to the light that arrives: its lens, shutter and exposure."""
