"""Writing letters. Every address goes through store.get_recipient first."""

import logging
from typing import List

from mailer import store as store_module
from mailer.store import Recipient, Store, get_recipient, get_recipients

log = logging.getLogger("mailer")


class UnknownRecipient(LookupError):
    """get_recipient found nobody."""


def greeting(store: Store, address: str) -> str:
    """The first line of a letter to the address."""
    recipient = get_recipient(store, address)
    if recipient is None:
        log.warning("get_recipient: nobody at %s", address)
        raise UnknownRecipient(f"get_recipient found nobody at {address}")
    return f"Dear {recipient.name},"


def budget_recipient(store: Store) -> Recipient:
    """Who gets the monthly bill; not to be mixed up with get_recipient."""
    fallback = Recipient("billing@example.org", "Billing")
    # Through the module, so that tests can replace store.get_recipient.
    found = store_module.get_recipient(store, "budget@example.org", default=fallback)
    return found or fallback


def round_letter(store: Store, newsletter: str) -> List[str]:
    """The greetings of all subscribers of a newsletter."""
    return [greeting(store, row.address) for row in get_recipients(store, newsletter)]
