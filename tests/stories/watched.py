"""`dawr`, and a file in which it writes down every second how many tasks have not ended: `watched.py FILE serve …`.

Nothing but the process itself knows that. Memory and open files are seen from outside.
"""

import asyncio
import gc
import sys
import threading
import time
from pathlib import Path

from dawr.cli import main


def keep_counting(file: Path) -> None:
    while True:
        time.sleep(1)
        there = gc.get_objects()
        tasks = sum(type(thing) is asyncio.Task and not thing.done() for thing in there)
        del there
        file.write_text(str(tasks), encoding="ascii")


if __name__ == "__main__":
    threading.Thread(target=keep_counting, args=(Path(sys.argv.pop(1)),), daemon=True).start()
    main()
