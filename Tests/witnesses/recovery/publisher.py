"""A backend that publishes at a rate, and counts what the broker has answered with 200."""

import hashlib
import hmac
import http.client
import json
import random
import threading
import time

BATCH = 10
#: The lengths of the data in bytes and their weights: small events, some that need a longer frame header, few large ones.
LENGTHS = ((20, 12), (90, 5), (400, 2), (4_000, 0.1))


class Publisher:
    """Publishes batches of consecutive numbers, on one channel after the other, over a connection of its own."""

    def __init__(self, broker, ledger, rate, repeats, seed):
        """`repeats`: an unanswered batch is sent again under its keys, which the broker remembers."""
        self._broker = broker
        self._ledger = ledger
        self._rate = rate
        self._repeats = repeats
        self._random = random.Random(seed)
        self._run = f"{seed:x}"
        self._connection = None
        self._turn = 0
        self._is_stopping = threading.Event()
        self._thread = None
        self._failure = None
        #: Batches without an answer, and batches that the broker had published before they were repeated.
        self.unanswered = 0
        self.repeated = 0

    def start(self):
        self._is_stopping.clear()
        self._thread = threading.Thread(target=self._publish_at_rate, daemon=True)
        self._thread.start()

    def stop(self):
        self._is_stopping.set()
        self._thread.join()
        self.check()

    def check(self):
        """Raises what has ended the publisher."""
        if self._failure:
            raise self._failure

    def publish_everywhere(self):
        """Publishes a batch on each channel that is acknowledged."""
        for channel in self._ledger.channels:
            while not self._publish(channel):
                time.sleep(0.1)

    def _publish_at_rate(self):
        try:
            start, count = time.monotonic(), 0
            while not self._is_stopping.is_set():
                due = start + count / self._rate
                if (pause := due - time.monotonic()) > 0:
                    self._is_stopping.wait(pause)
                elif pause < -1:
                    # The broker was away: what could not be published then is not made up for.
                    start, count = time.monotonic(), 0
                channels = self._ledger.channels
                self._turn += 1
                self._publish(channels[self._turn % len(channels)])
                count += BATCH
        except Exception as failure:
            self._failure = failure

    def _publish(self, channel):
        """Publishes a batch; returns whether the broker has acknowledged it."""
        first = self._ledger.begin(channel, BATCH)
        lengths, weights = zip(*LENGTHS)
        events = [
            {
                "name": "message",
                "channel": channel,
                "data": f"{number} ".ljust(self._random.choices(lengths, weights)[0], "x"),
                "info": "position",
                "idempotency_key": f"{self._run}-{channel}-{number}",
            }
            for number in range(first, first + BATCH)
        ]
        body = json.dumps({"batch": events})
        while (answer := self._post(body)) is None:
            self.unanswered += 1
            if not self._repeats:
                return False
            time.sleep(0.02)
        if answer.get("repeated"):
            self.repeated += 1
        for number, event in enumerate(answer["batch"], first):
            position = event["position"]
            self._ledger.acknowledge(channel, number, (position["stream"], position["serial"]))
        return True

    def _post(self, body):
        """The answer; None without one, or when the broker is busy."""
        path = f"/apps/{self._broker.app_id}/batch_events"
        query = (
            f"auth_key={self._broker.key}&auth_timestamp={int(time.time())}&auth_version=1.0"
            f"&body_md5={hashlib.md5(body.encode()).hexdigest()}"
        )
        text = f"POST\n{path}\n{query}"
        code = hmac.new(self._broker.secret.encode(), text.encode(), hashlib.sha256).hexdigest()
        try:
            self._connection = self._connection or http.client.HTTPConnection("127.0.0.1", self._broker.port, timeout=10)
            self._connection.request("POST", f"{path}?{query}&auth_signature={code}", body)
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            # Until the broker is there again.
            time.sleep(0.02)
            return None
        if response.status == 503:
            return None
        assert response.status == 200, f"{response.status} {content.decode()}"
        return json.loads(content)
