"""How far a run is."""

import sys
import time

from .table import grouped


class Progress:
    """One line of a terminal, or a line now and then."""

    def __init__(self, title, size, faults):
        """`faults`: what the faults of the run are called."""
        self._title = title
        self._size = size
        self._faults = faults
        self._is_terminal = sys.stdout.isatty()
        self._shown_at = 0
        self._line = ""

    def show(self, run):
        self._line = (
            f"{self._title}: {grouped(run.deliveries)} of {grouped(self._size.deliveries)} deliveries, "
            f"{grouped(run.faults)} of {grouped(self._size.faults)} {self._faults}"
        )
        if time.monotonic() - self._shown_at < (0.2 if self._is_terminal else 10):
            return
        self._shown_at = time.monotonic()
        print(f"\r\x1b[K{self._line}" if self._is_terminal else self._line, end="" if self._is_terminal else "\n", flush=True)

    def end(self, note=""):
        line = self._line + note
        print(f"\r\x1b[K{line}" if self._is_terminal else line, flush=True)
