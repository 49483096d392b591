"""Configs that come with the package: `train/`, `tournament/`, `play/`; data, by name."""
