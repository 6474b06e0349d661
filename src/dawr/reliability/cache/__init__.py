"""What is dear to compute and may be kept for a while, until something that it hangs on changes.

`Cache` keeps bytes under keys, in a Redis or Valkey that processes share (`SharedEntries`) or
in this process (`MemoryEntries`); `Typed` keeps values of one type. After a tag was
invalidated, nothing that was made before is served, and nothing that is still being made is kept.
"""

from dawr.reliability.cache.cache import Cache, Typed, key_of
from dawr.reliability.cache.entries import CacheAway, Entries
from dawr.reliability.cache.memory import MemoryEntries
from dawr.reliability.cache.shared_entries import SharedEntries

__all__ = ["Cache", "CacheAway", "Entries", "MemoryEntries", "SharedEntries", "Typed", "key_of"]
