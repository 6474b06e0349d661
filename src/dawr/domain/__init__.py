"""The rules. No I/O, no clock, no randomness: time and ids come in as arguments."""
