"""What is played: one file a game."""
