"""The numbers of one slot among the workers, in memory that outlives the process which counts there.

The supervisor makes it before it forks. A worker that is killed leaves its numbers behind, and
the next one in its slot counts on from them: a counter never goes down. One process writes,
all may read, and nobody waits: a series is written behind the end before the end is moved, and
a number is eight bytes that change at once.
"""

import mmap
from collections.abc import Iterator, Mapping

import msgspec

Key = tuple[str, ...]
"""The family's name, then its labels' values."""

SIZE = 4 * 1024 * 1024
"""A page that was never written to takes no memory."""
WORD = 8
END, ALIVE, NOWHERE, FIRST = 0, 1, 8, 64
"""Words of the head: how many words are in use, whether somebody counts here, and what there was no room for."""

_key = msgspec.json.Decoder(tuple[str, ...])


class Region:
    """A series is its number of values, its key's length, its key, and its values."""

    def __init__(self, size: int = SIZE) -> None:
        memory = mmap.mmap(-1, size)
        self._bytes = memoryview(memory)
        self.words: memoryview[float] = self._bytes.cast("d")
        self.words[END] = FIRST
        self._walked: list[tuple[Key, int, int]] = []
        self._walked_to = FIRST

    @property
    def is_alive(self) -> bool:
        return self.words[ALIVE] == 1.0

    def live(self) -> None:
        """Somebody counts here from now on."""
        self.words[ALIVE] = 1.0

    def die(self) -> None:
        """What was counted stays; what was measured means nothing any more."""
        self.words[ALIVE] = 0.0

    def add(self, key: Key, width: int) -> int:
        """A new series of so many values, all nought: where the first of them is. Without room it counts nowhere."""
        name = msgspec.json.encode(key)
        start = int(self.words[END])
        first = start + 2 + -(-len(name) // WORD)
        if (first + width) * WORD > len(self._bytes):
            return NOWHERE
        self.words[start] = width
        self.words[start + 1] = len(name)
        self._bytes[(start + 2) * WORD : (start + 2) * WORD + len(name)] = name
        for offset in range(first, first + width):
            self.words[offset] = 0.0  # somebody may have died here before the end was moved
        self.words[END] = first + width
        return first

    def offsets(self) -> Mapping[Key, int]:
        """Where the first value of each series is."""
        return {key: first for key, first, _ in self._series()}

    def values(self) -> Iterator[tuple[Key, list[float]]]:
        words = self.words
        for key, first, width in self._series():
            yield key, [words[first]] if width == 1 else list(words[first : first + width])

    def _series(self) -> list[tuple[Key, int, int]]:
        """Key, offset and width of each. They only become more, so those that are known need not be read again."""
        at, end = self._walked_to, int(self.words[END])
        while at < end:
            width, length = int(self.words[at]), int(self.words[at + 1])
            name = self._bytes[(at + 2) * WORD : (at + 2) * WORD + length]
            first = at + 2 + -(-length // WORD)
            self._walked.append((_key.decode(name), first, width))
            at = self._walked_to = first + width
        return self._walked
