"""Real Betaflight as the inner loops of a multirotor, over the interface of its SITL."""
