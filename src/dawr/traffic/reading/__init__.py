"""The statistics as people read them. Nothing in here writes."""
