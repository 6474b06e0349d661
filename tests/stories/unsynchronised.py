"""`dawr` on a machine whose clock nobody synchronises, whatever the one says that it runs on."""

from dawr.bootstrap import system
from dawr.cli import main

if __name__ == "__main__":
    setattr(system, "is_synchronised", lambda: False)  # noqa: B010 - a machine is made, no rule is changed
    main(prog_name="dawr")
