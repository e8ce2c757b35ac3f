"""A session over HTTP as pusher-js has it: streaming or polling requests, and requests with messages."""

import http.client
import itertools
import json
import queue
import random
import threading

#: How many characters of a response a client reads before it leaves it at the end of a line.
RESPONSE_MAX = 262_144


class HTTPSession:
    """One session; `operation` is `xhr_streaming` or `xhr`.

    `lines` gets every line but the prelude; `messages` the decoded messages.
    """

    numbers = itertools.count(1)

    def __init__(self, port, key="app-key", operation="xhr_streaming", prefix="/pusher", origin="http://page.example"):
        session = f"{random.randrange(1000)}/{''.join(random.choices('0123456789abcdefghijklmnopqrstuv', k=8))}"
        self.path = f"{prefix}/app/{key}/{session}"
        self.operation, self.port, self.origin = operation, port, origin
        self.lines, self.messages = queue.Queue(), queue.Queue()
        self.is_open = threading.Event()
        self.responses = 0
        #: Whether it requests more after a response.
        self.returns = True
        self.is_over = False
        self.closure = None
        threading.Thread(target=self._receive, daemon=True).start()

    def _post(self, operation, body=None, query="protocol=7&client=js&version=8.4.0"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        target = f"{self.path}/{operation}?{query}&t=0&n={next(self.numbers)}"
        headers = {"Content-Type": "application/json", "Origin": self.origin}
        connection.request("POST", target, body=body, headers=headers)
        return connection, connection.getresponse()

    def _receive(self):
        try:
            while not self.is_over:
                connection, response = self._post(self.operation)
                self.responses += 1
                if response.status != 200:
                    raise ConnectionError(f"{response.status} {response.read()}")
                self._read(response)
                connection.close()
                if not self.returns:
                    return
        except Exception as fault:  # Whoever waits for a line sees it.
            self.is_over = True
            self.lines.put(fault)
            self.messages.put(fault)

    def _read(self, response):
        length = 0
        while line := response.readline():
            length += len(line)
            text = line.decode("ascii").rstrip("\n")
            if text != "h" * 2_048:
                self._take(text)
            if self.is_over or self.operation == "xhr_streaming" and length > RESPONSE_MAX:
                return
        if self.operation == "xhr_streaming" and not self.is_over:
            raise ConnectionError("the stream has ended")

    def _take(self, line):
        self.lines.put(line)
        if line == "o":
            self.is_open.set()
        if line[0] == "a":
            for message in json.loads(line[1:]):
                self.messages.put(json.loads(message))
        if line == "h" and self.operation == "xhr_streaming":
            self.send()
        if line[0] == "c":
            self.closure = json.loads(line[1:])
            self.is_over = True
            self.messages.put(None)

    def send(self, *messages):
        """Sends messages once the session is open, and returns the status."""
        assert self.is_open.wait(15), "the session is not open"
        connection, response = self._post("xhr_send", json.dumps([json.dumps(message) for message in messages]), query="")
        response.read()
        connection.close()
        return response.status

    def next(self, event=None, seconds=15):
        """The next message, or the next of an event."""
        while True:
            message = self.messages.get(timeout=seconds)
            if isinstance(message, Exception):
                raise message
            if message is None or event is None or message["event"] == event:
                return message

    def subscribe(self, channel):
        assert self.send({"event": "pusher:subscribe", "data": {"channel": channel}}) == 204
        return self.next("pusher_internal:subscription_succeeded")

    def close(self):
        self.is_over = True
