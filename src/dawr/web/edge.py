"""The running parts that handlers reach for."""

from collections.abc import Callable

import msgspec

from dawr.accounts import Accounts
from dawr.domain.venue import VenueId
from dawr.engine import Engine
from dawr.live.hub import Hub
from dawr.ports import Ids
from dawr.settings import Settings
from dawr.web.auth import Auth
from dawr.web.client_address import Clients
from dawr.web.limits import Limits

MS_PER_HOUR = 60 * 60 * 1000


class Edge(msgspec.Struct, frozen=True):
    engine: Engine
    ids: Ids
    accounts: Accounts
    hub: Hub
    auth: Auth
    limits: Limits
    clients: Clients
    settings: Settings
    sweep_again: Callable[[VenueId], None]
    """Have a venue swept at the next look, when it could not be done at once."""

    @property
    def keep_ms(self) -> int:
        """How long the answer to a request with a key is kept."""
        return self.settings.answers_kept_hours * MS_PER_HOUR
