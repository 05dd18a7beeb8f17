import unittest

from roomcal.room import Room


class RoomTest(unittest.TestCase):
    def test_free(self):
        room = Room("Ada", opens=540, closes=720)
        self.assertEqual(room.free([(600, 630)]), [(540, 600), (630, 720)])

    def test_load(self):
        room = Room("Ada", opens=540, closes=720)
        self.assertEqual(room.load([(500, 630)]), 0.5)


if __name__ == "__main__":
    unittest.main()
