"""What was published: the truth that subscribers are compared with."""


class Ledger:
    """The messages of one run. Those of a channel have the numbers 1, 2, 3 … in the order of their publication."""

    def __init__(self, channels):
        # The position of each number in its stream; None while nobody knows whether it was published.
        self._positions = {channel: [] for channel in channels}
        self._due = dict.fromkeys(channels, 0)

    @property
    def channels(self):
        return list(self._positions)

    def begin(self, channel, count):
        """Takes the next numbers of a channel; returns the first."""
        positions = self._positions[channel]
        positions.extend([None] * count)
        return len(positions) - count + 1

    def acknowledge(self, channel, number, position):
        """The broker has answered 200 with this position, `(stream, serial)`."""
        assert self._positions[channel][number - 1] is None, f"{channel} {number} was acknowledged twice"
        self._positions[channel][number - 1] = position
        self._due[channel] += 1

    def position(self, channel, number):
        return self._positions[channel][number - 1]

    def last(self, channel):
        """The last number that was acknowledged; 0 without one."""
        positions = self._positions[channel]
        return next((number for number in range(len(positions), 0, -1) if positions[number - 1]), 0)

    @property
    def acknowledged(self):
        """The number of acknowledged messages on all channels."""
        return sum(self._due.values())

    def count(self, channel):
        """The numbers that were taken."""
        return len(self._positions[channel])

    def due(self, channel):
        """The number of acknowledged messages."""
        return self._due[channel]
