"""Dawr: a queue for places where people wait. Every number once."""

__version__ = "0.1.0"
