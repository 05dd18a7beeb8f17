import itertools
import random
import unittest

from roomcal.intervals import merge, total
from roomcal.room import Room


def by_minute(intervals):
    """The definition, minute by minute."""
    busy = sorted({m for start, end in intervals for m in range(start, end)})
    out = []
    for minute in busy:
        if out and out[-1][1] == minute:
            out[-1] = (out[-1][0], minute + 1)
        else:
            out.append((minute, minute + 1))
    return out


class Overlap(unittest.TestCase):
    def test_two(self):
        """overlap: overlapping intervals become one"""
        self.assertEqual(merge([(540, 600), (570, 630)]), [(540, 630)])

    def test_chain(self):
        """overlap: a chain of overlapping intervals becomes one"""
        self.assertEqual(merge([(1, 4), (3, 7), (6, 9), (8, 12)]), [(1, 12)])

    def test_apart(self):
        """overlap: intervals with a gap stay apart"""
        self.assertEqual(merge([(1, 3), (4, 6)]), [(1, 3), (4, 6)])


class Touch(unittest.TestCase):
    def test_two(self):
        """touch: intervals that touch become one"""
        self.assertEqual(merge([(540, 600), (600, 660)]), [(540, 660)])

    def test_three_in_any_order(self):
        """touch: three that touch become one in any order"""
        for order in itertools.permutations([(1, 2), (2, 3), (3, 4)]):
            self.assertEqual(merge(order), [(1, 4)])


class Inside(unittest.TestCase):
    def test_inside(self):
        """inside: an interval inside another one disappears in it"""
        self.assertEqual(merge([(540, 720), (570, 600)]), [(540, 720)])

    def test_other_numbers(self):
        """inside: not only for the numbers of the visible test"""
        self.assertEqual(merge([(0, 100), (10, 20), (30, 40)]), [(0, 100)])
        self.assertEqual(merge([(5, 9), (5, 6)]), [(5, 9)])

    def test_then_overlap(self):
        """inside: what overlaps the outer interval after an inner one still joins it"""
        self.assertEqual(merge([(0, 100), (10, 20), (50, 120)]), [(0, 120)])

    def test_total(self):
        """inside: no minute is lost or counted twice in total"""
        self.assertEqual(total([(540, 720), (570, 600), (600, 610)]), 180)


class Empty(unittest.TestCase):
    def test_left_out(self):
        """empty: an empty interval doesn't stand in the result"""
        self.assertEqual(merge([(5, 5), (7, 9)]), [(7, 9)])
        self.assertEqual(merge([]), [])

    def test_joins_nothing(self):
        """empty: an empty interval changes no other one"""
        self.assertEqual(merge([(1, 3), (3, 3), (4, 6), (2, 2)]), [(1, 3), (4, 6)])


class Backwards(unittest.TestCase):
    def test_raises(self):
        """backwards: an interval that ends before it starts raises ValueError"""
        for bad in ([(600, 540)], [(0, 900), (600, 540)], [(600, 540), (700, 800)]):
            with self.assertRaises(ValueError):
                merge(bad)


class Input(unittest.TestCase):
    def test_not_changed(self):
        """input: the input is not changed"""
        given = [(7, 9), (1, 5), (2, 3)]
        merge(given)
        self.assertEqual(given, [(7, 9), (1, 5), (2, 3)])

    def test_iterator(self):
        """input: any iterable will do"""
        self.assertEqual(merge(iter([(2, 4), (1, 3)])), [(1, 4)])
        self.assertEqual(merge({(2, 4), (1, 3)}), [(1, 4)])


class Result(unittest.TestCase):
    def test_tuples(self):
        """result: a new list of tuples"""
        given = [(1, 2)]
        got = merge(given)
        self.assertIsNot(got, given)
        self.assertEqual([type(i) for i in merge([[1, 3], [2, 4]])], [tuple])

    def test_against_the_definition(self):
        """result: sorted and equal to the minute-by-minute definition"""
        rng = random.Random(20240301)
        for _ in range(400):
            given = []
            for _ in range(rng.randrange(0, 7)):
                start = rng.randrange(0, 30)
                given.append((start, start + rng.randrange(0, 9)))
            self.assertEqual(merge(given), by_minute(given), given)


class Rooms(unittest.TestCase):
    def test_free(self):
        """inside: a room isn't free during a long booking with a short one in it"""
        room = Room("Ada", opens=480, closes=1080)
        self.assertEqual(room.free([(540, 720), (570, 600)]), [(480, 540), (720, 1080)])

    def test_load(self):
        """inside: the load counts the long booking whole"""
        room = Room("Ada", opens=0, closes=360)
        self.assertEqual(room.load([(0, 180), (10, 20)]), 0.5)
