import doctest
import inspect
import io
import pathlib
import re
import unittest
from unittest import mock

import mailer
from mailer import cli, service, store

PACKAGE = pathlib.Path(mailer.__file__).resolve().parent
OLD = re.compile(r"(?<![A-Za-z0-9_])get[_-]recipient(?![A-Za-z0-9_])")
NEW = re.compile(r"(?<![A-Za-z0-9_])find[_-]subscriber(?![A-Za-z0-9_])")


def text(name):
    return (PACKAGE / name).read_text(encoding="utf-8")


def old_lines(name):
    return [line for line in text(name).splitlines() if OLD.search(line)]


def run(*argv):
    out = io.StringIO()
    status = cli.main(list(argv), cli.sample(), out)
    return status, out.getvalue()


class Everywhere(unittest.TestCase):
    def test_store(self):
        """1: the old name occurs nowhere in store.py"""
        self.assertEqual(old_lines("store.py"), [])

    def test_service(self):
        """1: the old name occurs nowhere in service.py"""
        self.assertEqual(old_lines("service.py"), [])

    def test_cli(self):
        """1: the old name occurs nowhere in cli.py"""
        self.assertEqual(old_lines("cli.py"), [])

    def test_docstrings(self):
        """1: docstrings mention the new name where they mentioned the old one"""
        told = [
            store, store.Recipient, store.find_subscriber, store.get_recipients,
            service, service.UnknownRecipient, service.budget_recipient, cli,
        ]
        for thing in told:
            self.assertRegex(thing.__doc__ or "", NEW, thing)

    def test_no_mention_lost(self):
        """1: every mention was renamed, none was deleted"""
        counts = {name: len(NEW.findall(text(name))) for name in ("store.py", "service.py", "cli.py")}
        for name, least in {"store.py": 6, "service.py": 9, "cli.py": 7}.items():
            self.assertGreaterEqual(counts[name], least, name)

    def test_doctest(self):
        """1: the example in the docstring runs under the new name"""
        self.assertEqual(doctest.testmod(store)[:2], (0, 1))

    def test_exported(self):
        """1: __all__ holds the new name in place of the old one"""
        self.assertEqual(
            sorted(store.__all__), ["Recipient", "Store", "find_subscriber", "get_recipients"]
        )

    def test_messages(self):
        """1: messages say the new name"""
        with self.assertLogs("mailer", "WARNING") as logs:
            with self.assertRaises(service.UnknownRecipient) as caught:
                service.greeting(cli.sample(), "eve@example.org")
        self.assertEqual(str(caught.exception), "find_subscriber found nobody at eve@example.org")
        self.assertEqual(logs.records[0].getMessage(), "find_subscriber: nobody at eve@example.org")


class NoAlias(unittest.TestCase):
    def test_modules(self):
        """2: there is no alias under the old name"""
        for module in (mailer, store, service, cli):
            self.assertFalse(hasattr(module, "get_recipient"), module.__name__)

    def test_defined_under_the_new_name(self):
        """2: the function itself bears the new name"""
        self.assertEqual(store.find_subscriber.__name__, "find_subscriber")
        self.assertIs(service.find_subscriber, store.find_subscriber)


class Neighbours(unittest.TestCase):
    def test_plural(self):
        """3: get_recipients keeps its name"""
        rows = store.get_recipients(cli.sample(), "weekly")
        self.assertEqual([row.address for row in rows], ["ada@example.org"])
        self.assertEqual(store.get_recipients.__name__, "get_recipients")
        self.assertNotRegex(text("store.py") + text("service.py") + text("cli.py"), "find[_-]subscribers")

    def test_budget_recipient(self):
        """3: budget_recipient keeps its name"""
        self.assertEqual(service.budget_recipient(cli.sample()).name, "Billing")

    def test_classes(self):
        """3: the classes keep their names"""
        self.assertEqual(store.Recipient("a", "b").newsletter, "weekly")
        self.assertTrue(issubclass(service.UnknownRecipient, LookupError))


class Behaviour(unittest.TestCase):
    def test_lookup(self):
        """4: the function finds what it found"""
        rows = cli.sample()
        self.assertEqual(store.find_subscriber(rows, "BOB@EXAMPLE.ORG").name, "Bob")
        self.assertIsNone(store.find_subscriber(rows, "eve@example.org"))

    def test_letters(self):
        """4: letters begin as they did"""
        self.assertEqual(service.round_letter(cli.sample(), "monthly"), ["Dear Bob,"])

    def test_through_the_module(self):
        """4: budget_recipient still asks the store module under the new name"""
        with mock.patch.object(store, "find_subscriber", return_value=store.Recipient("x", "X")):
            self.assertEqual(service.budget_recipient(cli.sample()).name, "X")

    def test_command(self):
        """4: the command is called find-subscriber"""
        self.assertEqual(run("find-subscriber", "ada@example.org"), (0, "Ada <ada@example.org>\n"))
        self.assertEqual(
            run("find-subscriber", "eve@example.org"),
            (1, "find-subscriber: nobody at eve@example.org\n"),
        )

    def test_old_command(self):
        """4: the command get-recipient is gone, and the usage tells the new one"""
        status, out = run("get-recipient", "ada@example.org")
        self.assertEqual(
            (status, out),
            (2, "usage: mailer find-subscriber ADDRESS\n       mailer get-recipients NEWSLETTER\n"),
        )

    def test_plural_command(self):
        """4: get-recipients works as it did"""
        self.assertEqual(run("get-recipients", "monthly"), (0, "Bob <Bob@example.org>\n"))


class Signature(unittest.TestCase):
    def test_signature(self):
        """5: parameters, defaults and annotations stay as they are"""
        signature = inspect.signature(store.find_subscriber)
        self.assertEqual(list(signature.parameters), ["store", "address", "default"])
        default = signature.parameters["default"]
        self.assertEqual((default.kind, default.default), (default.KEYWORD_ONLY, None))
        self.assertEqual(signature.parameters["address"].annotation, str)
        self.assertEqual(
            signature.return_annotation, signature.parameters["default"].annotation
        )
