"""So many in so long, and never one more: an exact sliding log.

A request that is refused is not charged, so that whoever waits is let in again. A window
that began before the clock turned the minute is a window too: no `window_seconds` long
stretch of time ever holds more than `quota`.

`LocalLimiter` counts in one process. `shared_limiter.SharedLimiter` counts for all processes in a
Redis or Valkey, and for itself while that is away; it is not imported here, as few need Redis.
"""

from dawr.reliability.rate_limit.hits import Hits
from dawr.reliability.rate_limit.local import LocalLimiter
from dawr.reliability.rate_limit.policy import Limiter, Policy, Verdict, headers

__all__ = ["Hits", "Limiter", "LocalLimiter", "Policy", "Verdict", "headers"]
