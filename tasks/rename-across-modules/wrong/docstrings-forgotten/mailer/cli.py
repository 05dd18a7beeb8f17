"""The command line: ``find-subscriber ADDRESS``, ``get-recipients NEWSLETTER``.

Each command calls the function of mailer.store with the same name, so
``find-subscriber`` is find_subscriber.
"""

import sys
from typing import List, TextIO

from mailer import store as functions
from mailer.store import Recipient, Store

COMMANDS = {
    "find-subscriber": "find_subscriber",
    "get-recipients": "get_recipients",
}

USAGE = """usage: mailer find-subscriber ADDRESS
       mailer get-recipients NEWSLETTER"""


def sample() -> Store:
    """A store to try the commands on."""
    store = Store()
    store.add(Recipient("ada@example.org", "Ada"))
    store.add(Recipient("Bob@example.org", "Bob", "monthly"))
    return store


def main(argv: List[str], store: Store, out: TextIO) -> int:
    """Run a command; the return value is the exit status."""
    if len(argv) != 2 or argv[0] not in COMMANDS:
        print(USAGE, file=out)
        return 2
    # find_subscriber answers one row or None, get_recipients a list.
    found = getattr(functions, COMMANDS[argv[0]])(store, argv[1])
    rows = found if isinstance(found, list) else [found]
    for row in rows:
        if row is None:
            print(f"{argv[0]}: nobody at {argv[1]}", file=out)
            return 1
        print(f"{row.name} <{row.address}>", file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sample(), sys.stdout))
