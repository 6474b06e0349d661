"""What people can do, one file per actor. Plain functions of a transaction: they never wait."""
