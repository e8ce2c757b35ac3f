"""The process of the attackers: all attacks in turn, each as often as it is allowed to."""

import multiprocessing
import os
import threading
import time

import websocket

from .attacks import ATTACKS

#: Seconds between two runs of one attack.
PAUSE = 1


class Attackers:
    """Runs every attack in a thread of one child process until it is stopped."""

    def __init__(self, targets):
        """`targets`: the nodes; each attack takes them in turn."""
        self._stopping = multiprocessing.Event()
        self._counts = multiprocessing.Array("l", len(ATTACKS))
        self._process = multiprocessing.Process(target=self._run, args=(targets,), daemon=True)
        self._process.start()

    @property
    def counts(self):
        """How often each attack has run, by name."""
        return {attack.__name__.replace("_", " "): count for attack, count in zip(ATTACKS, self._counts)}

    def stop(self):
        self._stopping.set()
        self._process.join(30)
        self._process.kill()

    def _run(self, targets):
        # The attackers' own CPU time must not delay the clients that are measured.
        os.nice(15)
        threads = [
            threading.Thread(target=self._repeat, args=(number, attack, targets), daemon=True)
            for number, attack in enumerate(ATTACKS)
        ]
        for thread in threads:
            thread.start()
        self._stopping.wait()

    def _repeat(self, number, attack, targets):
        while not self._stopping.is_set():
            try:
                attack(targets[self._counts[number] % len(targets)])
            except (OSError, websocket.WebSocketException):
                pass  # The broker may refuse any of this.
            self._counts[number] += 1
            time.sleep(PAUSE)
