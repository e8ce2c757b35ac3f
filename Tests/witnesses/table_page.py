"""The Realtime table as its users see it, on pages and in old apps."""

import json
import urllib.request

from selenium.webdriver.common.keys import Keys

from programs import Demos, Program, await_true
from pysher_client import Subscriber

# One script reads all rows at one instant; a row on its way out does not count.
NAMES = """
    return [...document.querySelectorAll("#rows:not([hidden]) li:not(.leaving) .name")]
        .map((name) => name.textContent)
"""


class TablePage:
    """A page of the table; everything else is the page's."""

    def __init__(self, page):
        self._page = page

    def __getattr__(self, name):
        return getattr(self._page, name)

    @property
    def names(self):
        return self._driver.execute_script(NAMES)

    def await_names(self, *names):
        await_true(lambda: self.names == list(names) or None, f"names {names}")

    def add(self, name):
        self._find("#name").send_keys(name, Keys.ENTER)


class TableDemos(Demos):
    """Demos whose table a test has to itself: only the first of the eight people that it begins with stays."""

    FIRST_ID, LAST_ID = 1, 8

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        for user in users(self):
            if self.FIRST_ID < user["id"] <= self.LAST_ID:
                post(self, "/delete", id=user["id"], index=1, deviceId="setup")


def post(demos, path, **fields):
    request = urllib.request.Request(
        demos.url + path, json.dumps(fields).encode(), {"Content-Type": "application/json"}
    )
    return json.load(urllib.request.urlopen(request, timeout=10))


def users(demos):
    return json.load(urllib.request.urlopen(demos.url + "/users", timeout=10))


def order(demos):
    return [user["name"] for user in users(demos)]


class OldApp:
    """An app of the well-known tutorial: it loads the list once, and follows the old events by their indices."""

    EVENTS = ("addUser", "removeUser", "moveUser")

    def __init__(self, broker, demos):
        self._demos = demos
        self._subscriber = Subscriber(broker, "userslist", events=self.EVENTS)
        self._rows = [(user["id"], user["name"]) for user in users(demos)]

    def _apply(self, event, data):
        assert all(type(data[key]) is int for key in data if key not in ("name", "deviceId")), data
        assert type(data["deviceId"]) is str, data
        rows = self._rows
        if event == "addUser":
            assert set(data) == {"id", "name", "deviceId"}
            rows.append((data["id"], data["name"]))
        elif event == "removeUser":
            assert set(data) == {"id", "index", "deviceId"}
            assert rows.pop(data["index"])[0] == data["id"], data
        else:
            assert set(data) == {"src", "dest", "src_id", "dest_id", "deviceId"}
            assert rows[data["src"]][0] == data["src_id"] and rows[data["dest"]][0] == data["dest_id"], data
            rows.insert(data["dest"], rows.pop(data["src"]))

    @property
    def names(self):
        """The list after all events that have come so far."""
        while not self._subscriber.events.empty():
            _, event, data = self._subscriber.events.get()
            self._apply(event, json.loads(data))
        return [name for _, name in self._rows]

    def add(self, name):
        post(self._demos, "/add", name=name, deviceId="old")

    def remove(self, name):
        index = self.names.index(name)
        post(self._demos, "/delete", id=self._rows[index][0], index=index, deviceId="old")

    def move(self, name, target):
        source, destination = self.names.index(name), self.names.index(target)
        ids = {"src_id": self._rows[source][0], "dest_id": self._rows[destination][0]}
        post(self._demos, "/move", src=source, dest=destination, **ids, deviceId="old")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._subscriber.__exit__(*exception)


class Terminal(Program):
    """The view in the terminal, which is written with the Swift SDK; into a pipe it prints a line a change."""

    def __init__(self, broker, demos):
        addresses = ("--backend", demos.url, "--broker", f"ws://127.0.0.1:{broker.port}")
        super().__init__("demo-terminal", "table", *addresses, is_typed_at=True)
        self._names = []
        await_true(lambda: self.names, "the rows in the terminal")

    @property
    def names(self):
        """The names that were printed last."""
        for line in self.new_lines:
            if line and line.startswith("rows: "):
                self._names = [name for name in line.removeprefix("rows: ").split(", ") if name]
        return self._names
