"""Numbers about the running service, kept where a dying process cannot take them along."""
