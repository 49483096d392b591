"""Situations of configs, set-up and missing parts in which other tools went wrong."""
