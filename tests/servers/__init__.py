"""Private PostgreSQL and Valkey servers for the tests: real ones, as child processes.

Each lives in a directory of its own, listens on 127.0.0.1 only, and ends with the test run, however that
ends. A server that cannot be found is an error that says what to do, never a skipped test.
"""

from tests.servers.place import server_directory
from tests.servers.postgres import PostgresServer
from tests.servers.process import ServerFailed
from tests.servers.programs import ServerMissing
from tests.servers.server import Server
from tests.servers.valkey import ValkeyServer

__all__ = ["PostgresServer", "Server", "ServerFailed", "ServerMissing", "ValkeyServer", "server_directory"]
