"""What the TypeScript declarations of the browser files name."""

import re
import urllib.request


def read(broker, name):
    """A file for browsers, as the broker serves it."""
    return urllib.request.urlopen(f"{broker.url}/{name}", timeout=10).read().decode()


def members_of(declaration, types):
    """The names that a class or an interface of a .d.ts file declares."""
    body = re.search(rf"^export {declaration}\b.*?{{\n(.*?)^}}", types, re.S | re.M)[1]
    names = re.findall(r"^  (?:readonly |get )?(\w+)\??(?=[(:<])", body, re.M)
    return set(names) - {"constructor"}


def events_of(types):
    """The names of the protocol's own events that a .d.ts file declares."""
    return set(re.findall(r'^  "(pusher:\w+)"', types, re.M))
