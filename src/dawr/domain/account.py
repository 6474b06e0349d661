"""An account: a name and a password that one person signs in with, at any number of venues.

The password is kept as an argon2id hash and a session as a hash of its secret, so that
nothing in the database lets anybody in.
"""

import re
from itertools import pairwise
from typing import Final

import msgspec

from dawr.domain import staff
from dawr.domain.errors import InvalidValue
from dawr.domain.staff import LONGEST_USERNAME, Role, StaffMember
from dawr.domain.venue import VenueId

AccountId = staff.AccountId

SHORTEST_USERNAME: Final = 2
USERNAME: Final = re.compile(rf"[a-z0-9._@-]{{{SHORTEST_USERNAME},{LONGEST_USERNAME}}}")
SHORTEST_PASSWORD: Final = 8
LONGEST_PASSWORD: Final = 128

COMMON_PASSWORDS: Final = frozenset(
    """
    00000001 01234567 0123456789 10203040 11112222 11223344 12121212 12341234 123123123 1234567a 123456789a
    12345679 1234qwer 123qweasd 12qwaszx 147258369 1q2w3e4r 1q2w3e4r5t 1q2w3e4r5t6y 1qaz2wsx 1qaz2wsx3edc
    20202020 31415926 741852963 77777778 87654321 88888888 98765432 987654321 a1234567 a12345678 a123456789
    aa123456 aa12345678 abc12345 abcd1234 abcdefg1 access14 admin123 admin1234 admin12345 adminadmin
    administrator alexander anthony1 asdf1234 asdfasdf asdfghjk asdfghjkl asdfghjkl1 babygirl baseball baseball1
    basketball batman123 benjamin blink182 butterfly caroline changeme changeme1 charlie1 chocolate christian
    christopher clinic123 cocacola computer corvette danielle december demodemo demo1234 dragon123 elephant
    elizabeth facebook football football1 fortnite freedom1 fuckyou1 garfield gfhjkm123 google123 hello123
    hellohello iloveyou iloveyou1 iloveyou2 internet jennifer jessica1 jonathan jordan23 justinbieber killer123
    letmein1 letmein123 liverpool login123 lovelove master123 maverick mercedes michael1 michelle midnight
    minecraft monkey123 mustang1 naruto123 nicholas passw0rd p@ssw0rd p@ssword password password0 password1
    password12 password123 password1234 password! password1! password2 passwort patricia peaches1 pokemon1
    princess princess1 q1w2e3r4 q1w2e3r4t5 qazwsxedc qqww1122 qwer1234 qwerty11 qwerty12 qwerty123 qwerty1234
    qwerty12345 qwertyui qwertyuio qwertyuiop qwertz123 rootroot samantha samsung1 scorpion secret123 september
    serenity slipknot snowball spiderman starwars startrek steelers sunshine sunshine1 superman superman1
    superstar system32 test1234 testtest trustno1 undertaker victoria welcome1 welcome123 whatever william1
    winston1 zaq12wsx zaq1zaq1 zxcvbnm1 zxcvbnm123
    """.split()  # noqa: SIM905 - two hundred words read better without their quotes
)
"""What is tried first, in lower case."""


class Account(msgspec.Struct, frozen=True):
    """The fields are the columns, in their order."""

    account_id: AccountId
    username: str
    password_hash: str
    created_at: int
    disabled_at: int | None = None
    unlocked_at: int | None = None
    """Wrong passwords from before hold nobody back."""


class Session(msgspec.Struct, frozen=True):
    """Somebody who is signed in. The fields are the columns, in their order."""

    session_hash: str
    """SHA-256 of the secret that the person's program holds; the secret itself is not kept."""
    account_id: AccountId
    created_at: int
    seen_at: int
    expires_at: int

    def is_good(self, now: int, *, idle_ms: int) -> bool:
        """Neither over nor left alone for too long."""
        return self.expires_at > now and self.seen_at > now - idle_ms


class SignedIn(msgspec.Struct, frozen=True):
    """Who a session belongs to, and where they work now."""

    session: Session
    account: Account
    memberships: tuple[StaffMember, ...]
    """The active ones, by venue."""

    def role_at(self, venue_id: VenueId) -> Role | None:
        return next((m.role for m in self.memberships if m.venue_id == venue_id), None)


def checked_username(username: str) -> str:
    """The name in lower case, or a sentence about what is wrong with it."""
    lowered = username.strip().lower()
    if not USERNAME.fullmatch(lowered):
        raise InvalidValue("username", "username", least=SHORTEST_USERNAME, most=LONGEST_USERNAME)
    return lowered


def checked_password(password: str, *, username: str) -> str:
    """The password as it is, or a sentence about what is wrong with it. The sentence never repeats it."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise InvalidValue("password", "password-length", least=SHORTEST_PASSWORD, most=LONGEST_PASSWORD)
    lowered = password.lower()
    if lowered == username.lower():
        raise InvalidValue("password", "password-is-username")
    if lowered in COMMON_PASSWORDS or _is_a_run(lowered):
        raise InvalidValue("password", "password-common")
    return password


def _is_a_run(password: str) -> bool:
    """One character over and over, or characters that only go up or down by one."""
    steps = {ord(after) - ord(before) for before, after in pairwise(password)}
    return steps in ({0}, {1}, {-1})
