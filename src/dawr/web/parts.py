"""The running parts that handlers reach for."""

from collections.abc import Callable

import msgspec

from dawr.accounts.accounts import Accounts
from dawr.engine.engine import Engine
from dawr.engine.status_cache import StatusCache
from dawr.live.hub import Hub
from dawr.ports import Ids
from dawr.reliability.shared import Shared
from dawr.reliability.works import Works
from dawr.settings import Settings
from dawr.web.auth import Auth
from dawr.web.client_address import Clients
from dawr.web.limits import Limits

MS_PER_HOUR = 60 * 60 * 1000


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    engine: Engine
    status_cache: StatusCache
    ids: Ids
    accounts: Accounts
    hub: Hub
    auth: Auth
    limits: Limits
    clients: Clients
    settings: Settings
    shared: Shared | None
    processes: Callable[[], int]
    """How many serve this installation, at least."""
    works: Works
    """What goes on by itself in this process."""

    @property
    def joins_per_hour(self) -> int | None:
        """Of one mobile number at one restaurant; None when nothing is limited."""
        return self.settings.limit_mobile if self.settings.rate_limits == "on" else None

    @property
    def keep_ms(self) -> int:
        """How long the answer to a request with a key is kept."""
        return self.settings.answers_kept_hours * MS_PER_HOUR
