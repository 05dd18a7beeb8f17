import unittest

from roomcal.intervals import merge, total


class MergeTest(unittest.TestCase):
    def test_overlap(self):
        self.assertEqual(merge([(540, 600), (570, 630)]), [(540, 630)])

    def test_apart(self):
        self.assertEqual(merge([(600, 660), (480, 540)]), [(480, 540), (600, 660)])

    def test_meeting_inside_another(self):
        self.assertEqual(merge([(540, 720), (570, 600)]), [(540, 600)])

    def test_empty_interval(self):
        self.assertEqual(merge([(540, 540)]), [])

    def test_backwards(self):
        with self.assertRaises(ValueError):
            merge([(600, 540)])

    def test_total(self):
        self.assertEqual(total([(540, 600), (570, 630)]), 90)


if __name__ == "__main__":
    unittest.main()
