"""Pages that work without JavaScript."""
