"""The files of a module are in layers: circles of files that name each other's types are small, and an API has a place."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "Sources"
#: The most files that may reach each other by the types they name. The reactor and its streams are one idea in seven
#: files, and so are a connection to Redis and what it carries; the API of PusherSwift is that of another library.
CIRCLES = defaultdict(lambda: 6, Net=7, FanfareClient=8, PusherSwift=7)

MODIFIERS = r"(?:(?:public|package|internal|private|fileprivate|open|final|indirect|nonisolated|distributed)\s+)*"
TYPE = re.compile(rf"^(?:@\w+(?:\([^)]*\))?\s+)*{MODIFIERS}(?:struct|class|enum|actor|protocol|typealias)\s+([A-Z]\w*)", re.M)
TEXTS = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')
NAME = re.compile(r"\b[A-Z]\w+\b")
PUBLIC = re.compile(r"^[ ]*(?:@\w+(?:\([^)]*\))?\s+)*(?:public|open) (?!import\b|extension\b)", re.M)


def users(module):
    """Each file of a module, with the other files whose top-level types it names."""
    files = {path: TEXTS.sub("", path.read_text()) for path in sorted(module.rglob("*.swift"))}
    homes = {}
    for path, text in files.items():
        for name in TYPE.findall(text):
            homes.setdefault(name, path)
    return {path: {homes[name] for name in NAME.findall(text) if name in homes} - {path} for path, text in files.items()}


def circles(graph):
    """The files that reach each other, group by group (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(path):
        index[path] = low[path] = len(index)
        stack.append(path)
        for other in graph[path]:
            if other not in index:
                visit(other)
            if other in stack:
                low[path] = min(low[path], low[other])
        if low[path] == index[path]:
            place = stack.index(path)
            found.append(stack[place:])
            del stack[place:]

    for path in graph:
        if path not in index:
            visit(path)
    return found


@pytest.mark.parametrize("module", sorted(path.name for path in SOURCES.iterdir() if any(path.rglob("*.swift"))))
def test_circles(module):
    largest = max(circles(users(SOURCES / module)), key=len)
    assert len(largest) <= CIRCLES[module], sorted(str(path.relative_to(SOURCES)) for path in largest)


def test_the_api_of_the_client_is_in_one_folder():
    """What an app uses is not beside the writers, sessions and sockets that serve it."""
    client = SOURCES / "FanfareClient"
    public = {path.relative_to(client).parts[0] for path in client.rglob("*.swift") if PUBLIC.search(path.read_text())}
    assert public == {"API"}
