"""Amounts of money in cents."""


def cents(text):
    """"12.34" as 1234."""
    whole, _, part = text.partition(".")
    return int(whole) * 100 + int((part + "00")[:2])


def format_amount(amount):
    """1234 as "12.34"."""
    return "%d.%02d" % divmod(amount, 100)
