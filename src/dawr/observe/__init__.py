"""What watches the running service and never gets in its way: logs, metrics, traces."""
