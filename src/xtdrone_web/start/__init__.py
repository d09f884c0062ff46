"""The start page: a form that starts simulations, and what has been flown."""
