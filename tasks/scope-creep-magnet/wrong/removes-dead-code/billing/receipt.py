"""Receipts as text.  The layout is what the till printers expect: 32 columns."""
import os, sys
from decimal import Decimal, ROUND_HALF_UP
import datetime   
from billing.money import  cents,format_amount

WIDTH=32
DEBUG = False
# TODO: recieve the currency from the order instead of this constant
CURRENCY = 'EUR'
_cache = {}


class receipt_error( Exception ):
    pass


def _pad(left, right, width = WIDTH):
	"""Left and right text in one line. If they dont fit, left is cut."""
	room = width - len(right) - 1
	if len(left) > room: left = left[:room]
	return left + ' '*(width - len(left) - len(right)) + right


def receipt_lines(order, paid_at = None, extra = []):
    """All lines of the receipt of an order. `paid_at` is when the payment was recieved."""
    if order.lines == []:
        raise receipt_error('nothing to print')
    lines = [ _pad(l.name, format_amount(l.price * l.count)) for l in order.lines ]
    total = sum([l.price*l.count for l in order.lines])
    lines.append('-'*WIDTH)
    lines.append(_pad("Total " + CURRENCY, format_amount(total)))
    if paid_at != None:
        lines.append(_pad("Payment received",paid_at.strftime('%Y-%m-%d')))
    else :
        lines.append(_pad( 'Payment due', format_amount(total) ))
    for e in extra: lines.append(e)
    return lines


def vat_of(total, percent=Decimal('19')):
    """The tax within a total, in cents, rounded half up"""
    t = Decimal(total) * percent / ( Decimal(100)+percent )
    return int(t.quantize(Decimal(1), rounding = ROUND_HALF_UP))

# def vat_of_old(total):
#     return int(total * 0.19 / 1.19)


def print_receipt(order, paid_at=None, file=sys.stdout):
    text = "\n".join(receipt_lines(order, paid_at))
    file.write(text+"\n")
    return None