"""Landing on markers that a camera sees: their motion, the landing target, an Agent."""
