import unittest

from layers import ConfigError, expand, load, merge


class LayersTest(unittest.TestCase):
    def test_later_wins(self):
        self.assertEqual(merge([{"a": 1, "b": 1}, {"b": 2}]), {"a": 1, "b": 2})

    def test_dicts_are_merged(self):
        self.assertEqual(
            merge([{"db": {"host": "a", "port": 1}}, {"db": {"port": 2}}]),
            {"db": {"host": "a", "port": 2}},
        )

    def test_none_deletes(self):
        self.assertEqual(merge([{"a": 1, "b": 1}, {"a": None}]), {"b": 1})

    def test_variable(self):
        self.assertEqual(expand("${USER}@${HOST:localhost}", {"USER": "ada"}), "ada@localhost")

    def test_missing_variable(self):
        with self.assertRaises(ConfigError) as caught:
            expand("${USER}", {})
        self.assertEqual(caught.exception.name, "USER")

    def test_load(self):
        self.assertEqual(load([{"home": "/home/${U}"}, {"n": 3}], {"U": "ada"}), {"home": "/home/ada", "n": 3})


if __name__ == "__main__":
    unittest.main()
