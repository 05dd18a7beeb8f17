import io
import unittest

from mailer import cli, service, store


class MailerTest(unittest.TestCase):
    def setUp(self):
        self.store = cli.sample()

    def test_find_subscriber(self):
        self.assertEqual(store.find_subscriber(self.store, "ADA@example.org").name, "Ada")
        self.assertIsNone(store.find_subscriber(self.store, "eve@example.org"))

    def test_get_recipients(self):
        self.assertEqual([r.name for r in store.get_recipients(self.store, "weekly")], ["Ada"])

    def test_greeting(self):
        self.assertEqual(service.greeting(self.store, "bob@example.org"), "Dear Bob,")

    def test_list_on_the_command_line(self):
        out = io.StringIO()
        self.assertEqual(cli.main(["get-recipients", "monthly"], self.store, out), 0)
        self.assertEqual(out.getvalue(), "Bob <Bob@example.org>\n")


if __name__ == "__main__":
    unittest.main()
