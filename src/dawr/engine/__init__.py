"""Lanes, batches and answers; what many look at; and what the clock does."""
