"""What the disk has, and not only the system's memory."""

import os
from pathlib import Path


def sync(path: Path) -> None:
    """When it returns the disk has the file, or the names in the directory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
