"""Tools for writes that may be retried. They know no queue and no ticket, and are useful alone."""
