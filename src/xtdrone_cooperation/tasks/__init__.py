"""Tasks at places: what they are, who does which, and the Agent that flies them."""
