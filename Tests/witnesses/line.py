"""A line between one page and the programs that can be cut, as a cable can."""

import socket
import threading


class Line:
    """Carries an address of loopback to the same ports of 127.0.0.1."""

    def __init__(self, number, *ports):
        self.host = f"127.0.0.{number}"
        self._ports = ports
        self._sockets = set()
        self._lock = threading.Lock()
        self.mend()

    def mend(self):
        for port in self._ports:
            listener = socket.create_server((self.host, port))
            self._keep(listener)
            threading.Thread(target=self._accept, args=(listener, port), daemon=True).start()

    def cut(self):
        """Ends what is open, and lets nothing through any more."""
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for each in sockets:
            self._end(each)

    def _keep(self, *sockets):
        with self._lock:
            self._sockets.update(sockets)

    def _accept(self, listener, port):
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", port))
            except OSError:
                return
            self._keep(near, far)
            # Cut between the two lines above: this one came a moment too late.
            if listener.fileno() < 0:
                self._end(near)
                self._end(far)
                return
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(source, target), daemon=True).start()

    def _carry(self, source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            self._end(each)

    @staticmethod
    def _end(each):
        # A thread that waits in accept or recv goes on only when the socket is shut down.
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        each.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cut()
