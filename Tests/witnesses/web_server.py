"""nginx in front of a backend, with a configuration of the test's own."""

import os
import signal
import subprocess

from ports import accepts, free_port
from programs import STOP_TIME_MAX, await_true

CONFIGURATION = """
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    log_format connections '$connection $request_method $status';
    access_log {folder}/access.log connections;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port}{tls};
        {settings}
        location / {{ {location} }}
    }}
}}
"""


class WebServer:
    """nginx on loopback; with a certificate it speaks TLS alone."""

    def __init__(self, folder, location, settings="", certificate=None):
        self.port = free_port()
        self._folder = folder
        tls = ""
        if certificate:
            tls = " ssl"
            settings += f" ssl_certificate {certificate.certificate};"
            settings += f" ssl_certificate_key {certificate.key};"
        file = folder / "nginx.conf"
        file.write_text(
            CONFIGURATION.format(
                folder=folder, port=self.port, tls=tls, settings=settings, location=location
            )
        )
        # Of Debian, where /usr/sbin is not on everybody's path.
        path = f"{os.environ['PATH']}:/usr/sbin"
        self._process = subprocess.Popen(
            ["nginx", "-e", folder / "error.log", "-p", folder, "-c", file, "-g", "daemon off;"],
            env={**os.environ, "PATH": path},
        )
        host = "localhost" if certificate else "127.0.0.1"
        self.url = f"{'https' if certificate else 'http'}://{host}:{self.port}/webhooks"
        await_true(self._answers, "nginx listens", told=self._errors)

    def _answers(self):
        assert self._process.poll() is None, self._errors()
        return accepts(self.port)

    def _errors(self):
        log = self._folder / "error.log"
        return log.read_text() if log.exists() else "no log"

    @property
    def requests(self):
        """The requests so far: the number of the connection, the method, and the status."""
        log = self._folder / "access.log"
        return [line.split() for line in log.read_text().splitlines()] if log.exists() else []

    def reload(self):
        """Has new processes take over; the old ones close their connections once they are idle."""
        self._process.send_signal(signal.SIGHUP)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(STOP_TIME_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
