"""Games are played here."""
