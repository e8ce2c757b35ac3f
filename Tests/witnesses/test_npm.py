"""The package for npm: what `make npm` makes, as Node and TypeScript see it."""

import gzip
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from declarations import read
from node import Node
from programs import BUILD, ROOT

#: Debian's packages of React, with its types.
DEBIAN = Path("/usr/share/nodejs")
PARTS = ["", "/pusher", "/encrypted", "/live", "/react", "/vue", "/history"]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder of an app that has installed the package, React, and a stand-in for Vue."""
    folder = tmp_path_factory.mktemp("npm")
    made = subprocess.run(
        [ROOT / "config/scripts/npm.sh"], capture_output=True, text=True,
        env={**os.environ, "PROGRAM": str(BUILD / "fanfare"), "DIST": str(folder)},
    )
    assert made.returncode == 0, made.stderr
    (tarball,) = folder.glob("fanfare-*.tgz")
    modules = folder / "app" / "node_modules"
    modules.mkdir(parents=True)
    (modules.parent / "package.json").write_text('{"type": "module"}')
    with tarfile.open(tarball) as files:
        # As npm unpacks it.
        assert {name.split("/")[0] for name in files.getnames()} == {"package"}
        files.extractall(modules)
    (modules / "package").rename(modules / "fanfare")
    for name in ("react", "react-dom", "scheduler", "loose-envify", "js-tokens", "@types/react"):
        shutil.copytree(DEBIAN / name, modules / name)
    (modules / "vue").mkdir()
    names = ["inject", "onMounted", "onUnmounted", "shallowRef", "unref", "watch"]
    (modules / "vue" / "index.mjs").write_text("".join(f"export const {name} = () => ({{}});" for name in names))
    (modules / "vue" / "package.json").write_text('{"name": "vue", "exports": "./index.mjs"}')
    return modules / "fanfare"


def test_it_has_the_files_that_the_broker_serves(package, broker):
    description = json.loads((package / "package.json").read_text())
    assert description["version"] == read(broker, "fanfare.js").split('VERSION="')[1].split('"')[0]
    files = {path.name for path in package.iterdir()} - {"package.json", "README.md", "LICENSE"}
    for name in files:
        assert (package / name).read_text() == read(broker, name), name
    exported = {name for export in description["exports"].values() if isinstance(export, dict) for name in export.values()}
    assert exported == {f"./{name}" for name in files}


def test_the_client_is_at_most_8_kb_and_the_part_of_a_framework_1_kb(package):
    for name, size in [("fanfare.js", 8192), ("fanfare-react.js", 1024), ("fanfare-vue.js", 1024)]:
        assert len(gzip.compress((package / name).read_bytes(), 9)) <= size, name


def test_node_imports_each_part(package, broker):
    app = package.parents[1]
    imports = "".join(f'await import("fanfare{part}"),' for part in PARTS)
    exports = Node(app, broker).run(f"answer([{imports}].map((module) => Object.keys(module)));")
    assert exports[0] == ["Channel", "Fanfare", "NotAuthorized", "VERSION"]
    assert exports[2] == ["decrypt"]
    assert "LiveList" in exports[3]
    hooks = {"useChannel", "usePresence", "useConnection", "useLiveList", "useFanfare"}
    assert set(exports[4]) == {*hooks, "FanfareProvider"} and set(exports[5]) == {*hooks, "fanfarePlugin"}


def test_a_server_renders_the_hooks_and_subscribes_to_nothing(package, broker):
    assert Node(package.parents[1], broker).run(
        """
        const { Fanfare } = await import("fanfare");
        const { LiveList } = await import("fanfare/live");
        const { FanfareProvider, ...hooks } = await import("fanfare/react");
        const { createElement } = await import("react");
        const { default: { renderToString } } = await import("react-dom/server");
        const fanfare = new Fanfare("app-key", { host: "127.0.0.1", port });
        const list = new LiveList({ base: "/rows", channel: "rows" });
        function Page() {
            const channel = hooks.useChannel("news", { new: () => {} });
            const { members } = hooks.usePresence("presence-room");
            const { rows, isLoaded } = hooks.useLiveList(list);
            return JSON.stringify([channel, members, rows, isLoaded, hooks.useConnection()]);
        }
        const html = renderToString(createElement(FanfareProvider, { client: fanfare }, createElement(Page)));
        answer([JSON.parse(html.replaceAll("&quot;", '"')), fanfare.channel("news") ?? null]);
        """
    ) == [[None, [], [], False, {"state": "initialized"}], None]


APP = """
import { Fanfare, NotAuthorized, type Connection, type Member } from "fanfare";
import { decrypt } from "fanfare/encrypted";
import { history } from "fanfare/history";
import { LiveList, move, put, update } from "fanfare/live";
import { FanfareProvider, useChannel, useConnection, useFanfare, useLiveList, usePresence } from "fanfare/react";
import * as vue from "fanfare/vue";
import type { Recovered } from "fanfare/pusher";

interface User { name: string }
interface Film { id: number; title: string }
type Channels = { userslist: { addUser: User; "client-typing": boolean }; [room: `private-room-${string}`]: { said: string } };

const fanfare = new Fanfare<Channels>("app-key", { host: "h", decrypt, authorize: async () => { throw new NotAuthorized("no"); } });
const users = fanfare.subscribe("userslist");
users.bind("addUser", (user) => user.name.length).bind("pusher:continuity", ({ kind }) => kind.length);
users.trigger("client-typing", true);
fanfare.subscribe("private-room-1").bind("said", (text) => text.length);
fanfare.bind("addUser", (user, { channel }) => `${user.name} ${channel}`);
fanfare.bind("fanfare:state", (connection) => connection.state === "connected" && connection.socketID.length);
fanfare.bind_global((event, data) => event.length).unbind_all();
fanfare.destroy();

const any = new Fanfare("app-key");
any.subscribe("x").bind("y", (user: User) => user.name).unbind("y");
any.subscribe("x").bind("pusher:member_added", ({ id }) => id.length).trigger("client-x", 1);
any.onstate = (state, detail) => {};

// @ts-expect-error: no such event
users.bind("removeUser", () => {});
// @ts-expect-error: no such channel
fanfare.subscribe("user");
// @ts-expect-error: other data
users.bind("addUser", (user: number) => {});
// @ts-expect-error: other data
users.trigger("client-typing", 3);
// @ts-expect-error: not a client event
users.trigger("addUser", { name: "" });

history(fanfare, "userslist", { count: 20 }).then(({ events }) => events.map(({ event, serial }) => event + serial.toFixed()));
// @ts-expect-error: neither a count nor seconds
history(fanfare, "userslist", {});

const films = new LiveList<Film>({ base: "/films", channel: "films" });
films.edit([put({ id: 1, title: "A" }, null), move(1, null), update({ id: 1, title: "B" })]);
films.bind("refused", ({ error, texts }) => error.status + texts.length);

function Page() {
  const channel = useChannel<Channels["userslist"]>("userslist", {
    addUser: (user) => user.name.length,
    "pusher:subscription_error": ({ error }) => error.length,
  });
  useChannel("news", { new: (data) => data.what, "pusher:continuity": ({ kind }) => kind });
  useChannel(null);
  channel?.trigger("client-typing", true);
  const { members } = usePresence<User>("presence-room");
  const names: string[] = members.map(({ info }) => info.name);
  const connection: Connection = useConnection();
  const { rows, pendingIDs } = useLiveList(films);
  const titles: string[] = rows.map(({ title }) => title);
  const client: Fanfare<Channels> = useFanfare<Channels>();
  // @ts-expect-error: no such event
  useChannel<Channels["userslist"]>("userslist", { removeUser: () => {} });
  return [names, titles, connection.state, pendingIDs.size, client.url];
}
FanfareProvider({ client: fanfare, children: Page() });

const { value } = vue.useChannel<Channels["userslist"]>(() => "userslist", { addUser: ({ name }) => name.length });
value?.trigger("client-typing", false);
vue.usePresence<User>({ value: "presence-room" }).members.value.map(({ info }) => info.name);
vue.useLiveList(films).value.rows.map(({ title }) => title.length);
vue.fanfarePlugin.install({ provide: () => {} }, fanfare);
"""


PAGE = """
import { Fanfare } from "fanfare";
import { FanfareProvider, usePresence } from "fanfare/react";
import React, { type ReactElement } from "react";

function Page(): ReactElement {
  return <ul>{usePresence<{ name: string }>("presence-room").members.map(({ id, info }) => <li key={id}>{info.name}</li>)}</ul>;
}
export const page = <FanfareProvider client={new Fanfare("app-key")}><Page /></FanfareProvider>;
// @ts-expect-error: no client
export const none = <FanfareProvider><Page /></FanfareProvider>;
"""


# The types of Debian's React lack those that they import: they are not checked, and so are not ours beside them.
@pytest.mark.parametrize("name, options", [("app.ts", []), ("page.tsx", ["--skipLibCheck", "--jsx", "react"])])
def test_its_types_are_strict(package, name, options):
    app = package.parents[1]
    (app / name).write_text({"app.ts": APP, "page.tsx": PAGE}[name])
    checked = subprocess.run(
        [
            *("tsc", "--strict", "--noEmit", "--target", "es2022", "--lib", "es2022,dom", "--typeRoots", "none"),
            *("--module", "node16", "--moduleResolution", "node16", "--esModuleInterop", *options, name),
        ],
        cwd=app, capture_output=True, text=True,
    )
    assert checked.returncode == 0, checked.stdout
