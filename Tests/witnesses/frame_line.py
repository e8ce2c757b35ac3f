"""A line between pages and a broker that loses chosen messages, adds others, and can be cut."""

import socket
import threading


class FrameLine:
    """Carries WebSockets without compression from a port of its own to the broker's; frames to the page one by one."""

    def __init__(self, port):
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._pairs = []
        self._is_open = True
        # The texts on the way to the page, and those that do not arrive.
        self.texts = []
        self.loses = lambda text: False
        threading.Thread(target=self._accept, daemon=True).start()

    def inject(self, text):
        """Sends a message to every page, as if it were the broker's."""
        with self._lock:
            for near, _ in self._pairs:
                near.sendall(frame(text))

    def cut(self):
        """Ends every connection without a close frame."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for each in pair:
                end(each)

    def close(self):
        """Cuts, and refuses connections until `open()`."""
        self._is_open = False
        self.cut()

    def open(self):
        self._is_open = True

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._target)) if self._is_open else None
            except OSError:
                # The broker is away.
                far = None
            if far is None:
                near.close()
                continue
            threading.Thread(target=self._carry_up, args=(near, far), daemon=True).start()
            threading.Thread(target=self._carry_down, args=(near, far), daemon=True).start()
            with self._lock:
                self._pairs.append((near, far))

    def _carry_up(self, near, far):
        head = b""
        try:
            while b"\r\n\r\n" not in head:
                head += near.recv(65536) or end(near)
            lines = head.split(b"\r\n")
            far.sendall(b"\r\n".join(line for line in lines if not line.lower().startswith(b"sec-websocket-ext")))
            while data := near.recv(65536):
                far.sendall(data)
        except (OSError, TypeError):
            pass
        end(near), end(far)

    def _carry_down(self, near, far):
        reader = far.makefile("rb")
        try:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += reader.readline() or end(far)
            near.sendall(head)
            if b" 101 " not in head:
                while data := reader.read1(65536):
                    near.sendall(data)
            while start := reader.read(2):
                self._pass(near, reader, start)
        except (OSError, TypeError, ValueError):
            pass
        end(near), end(far)

    def _pass(self, near, reader, start):
        length = start[1] & 0x7F
        more = reader.read({126: 2, 127: 8}.get(length, 0))
        payload = reader.read(int.from_bytes(more, "big") if more else length)
        if start[0] & 0x0F == 1:
            text = payload.decode()
            with self._lock:
                self.texts.append(text)
                if self.loses(text):
                    return
        with self._lock:
            near.sendall(start + more + payload)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self._listener)
        self.cut()


def frame(text):
    """A text frame of a server (RFC 6455 §5.2)."""
    payload = text.encode()
    length = len(payload)
    return b"\x81" + (bytes([length]) if length < 126 else b"\x7e" + length.to_bytes(2, "big")) + payload


def end(each):
    # A thread that waits in accept or recv goes on only when the socket is shut down.
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    each.close()
