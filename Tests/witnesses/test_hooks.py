"""The hooks for React, under its StrictMode and without, and the composables for Vue, with both frameworks' own builds."""

import json
from pathlib import Path

import pusher
import pytest
import trame_client

from programs import Broker, await_true
from static_site import StaticSite

#: Debian's builds of React for pages.
REACT = [Path("/usr/share/nodejs") / name for name in ("react/umd/react.development.js", "react-dom/umd/react-dom.development.js")]
#: A package for Python that has Vue's build for pages.
VUE = Path(trame_client.__file__).parent / "module/vue3-www/vue.global.js"

#: Each framework's component by the name of what it shows; `told` gets the events that handlers get.
REACT_PARTS = """
    const { createElement: h, StrictMode, useState } = React;
    const hooks = await import(`${broker}/fanfare-react.js`);
    const parts = {
        News({ name = "news" }) {
            const [count, setCount] = useState(0);
            // The handler of the last drawing is called, not that of the first.
            hooks.useChannel(name, { new: (data) => { told.push([count, data]); setCount(count + 1); } });
            return count;
        },
        Room() {
            const { members, me } = hooks.usePresence("presence-room");
            return members.map(({ id, info }) => `${id}:${info.name}`).join() + `/${me}`;
        },
        State() {
            return hooks.useConnection().state;
        },
        Films() {
            const { rows, isLoaded, pendingIDs } = hooks.useLiveList(list);
            return isLoaded ? rows.map(({ id, title }) => title + (pendingIDs.has(id) ? "?" : "")).join() : "loading";
        },
        Films2() { return [h(parts.Films, { key: 1 }), "+", h(parts.Films, { key: 2 })]; },
    };
    const root = ReactDOM.createRoot(document.querySelector("#app"));
    window.show = (name, properties) => {
        const part = name && h(hooks.FanfareProvider, { client: fanfare }, h(parts[name], properties));
        root.render(isStrict ? h(StrictMode, null, part) : part);
    };
"""
VUE_PARTS = """
    const { createApp, h, ref, shallowRef } = Vue;
    const hooks = await import(`${broker}/fanfare-vue.js`);
    const parts = {
        News: {
            props: ["name"],
            setup(properties) {
                const count = ref(0);
                hooks.useChannel(() => properties.name ?? "news", { new: (data) => told.push([count.value++, data]) });
                return () => count.value;
            },
        },
        Room: { setup() {
            const { members, me } = hooks.usePresence("presence-room");
            return () => members.value.map(({ id, info }) => `${id}:${info.name}`).join() + `/${me.value}`;
        } },
        State: { setup() {
            const connection = hooks.useConnection();
            return () => connection.value.state;
        } },
        Films: { setup() {
            const view = hooks.useLiveList(list);
            return () => view.value.isLoaded
                ? view.value.rows.map(({ id, title }) => title + (view.value.pendingIDs.has(id) ? "?" : "")).join() : "loading";
        } },
        Films2: { render: () => [h(parts.Films, { key: 1 }), "+", h(parts.Films, { key: 2 })] },
    };
    const shown = shallowRef([null]);
    window.show = (name, properties) => { shown.value = [name, properties]; };
    createApp({ render: () => shown.value[0] && h(parts[shown.value[0]], shown.value[1]) })
        .use(hooks.fanfarePlugin, fanfare).mount("#app");
"""
CLIENT = """
    const [broker, isStrict, secret] = given;
    // What the client sends, and on how many sockets.
    window.sent = [];
    window.sockets = 0;
    window.WebSocket = class extends WebSocket {
        constructor(url) { super(url); sockets += 1; }
        send(text) {
            const { event, data } = JSON.parse(text);
            if (event.endsWith("subscribe")) sent.push(`${event.slice("pusher:".length)} ${data.channel}`);
            super.send(text);
        }
    };
    const { Fanfare } = await import(`${broker}/fanfare.js`);
    const { LiveList } = await import(`${broker}/fanfare-live.js`);
    window.live = await import(`${broker}/fanfare-live.js`);
    const text = new TextEncoder();
    const key = await crypto.subtle.importKey(
        "raw", text.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    async function sign(message) {
        const bytes = new Uint8Array(await crypto.subtle.sign("HMAC", key, text.encode(message)));
        return "app-key:" + [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    }
    const client = (user) => new Fanfare("app-key", {
        async authorize({ socketID, channel }) {
            const channel_data = JSON.stringify({ user_id: user, user_info: { name: user.toUpperCase() } });
            return { auth: await sign(`${socketID}:${channel}:${channel_data}`), channel_data };
        },
    });
    window.told = [];
    window.fanfare = client("ann");
    window.bob = client("bob");
    // How many functions are bound, on the client and its channels.
    window.bound = 0;
    const count = (source) => {
        for (const [name, change] of [["bind", 1], ["unbind", -1]]) {
            const own = source[name];
            source[name] = function (...given) { bound += change; return own.apply(this, given); };
        }
        return source;
    };
    count(fanfare);
    const { subscribe } = fanfare;
    const counted = new WeakSet();
    fanfare.subscribe = function (...given) {
        const channel = subscribe.apply(this, given);
        if (!counted.has(channel)) counted.add(count(channel));
        return channel;
    };
    // A backend of a list.
    window.rows = [{ id: 1, title: "Alien" }];
    window.requests = [];
    window.list = count(new LiveList({ base: "/films", channel: "films", request: async (method, url, body) => {
        requests.push(`${method} ${url}`);
        if (method === "GET") return { revision: 1, rows };
        return new Promise((resolve) => { window.save = () => resolve({ revision: 2 }); });
    } }));
    fanfare.connect();
"""


@pytest.fixture(scope="module")
def scripts():
    """A site with the frameworks, each also as the module that its hooks import."""
    names = {
        "React": [
            "createContext", "createElement", "useCallback", "useContext", "useEffect", "useInsertionEffect", "useReducer",
            "useRef", "useState", "useSyncExternalStore",
        ],
        "Vue": ["inject", "onMounted", "onUnmounted", "shallowRef", "unref", "watch"],
    }
    files = {}
    for name, exported in names.items():
        listed = "{ " + ", ".join(exported) + " }"
        files[f"/{name.lower()}.js"] = f"const {listed} = window.{name}; export {listed};"
    for number, path in enumerate([*REACT, VUE]):
        files[f"/build-{number}.js"] = path.read_text()
    imports = json.dumps({"imports": {"react": "/react.js", "vue": "/vue.js"}})
    builds = "".join(f'<script src="/build-{number}.js"></script>' for number in range(3))
    files["/"] = f'<!doctype html><title>Hooks</title><script type="importmap">{imports}</script>{builds}<p id="app"></p>'
    with StaticSite(files) as site:
        yield site.url


class HookPage:
    """A page whose one element shows a component, or none."""

    def __init__(self, page, site, broker, kind):
        self._page = page
        page.open(site)
        parts = VUE_PARTS if kind == "Vue" else REACT_PARTS
        page.run(CLIENT + parts, broker.url, kind == "React, strict", broker.secret)

    def run(self, script, *arguments):
        return self._page.run(script, *arguments)

    def show(self, part, **properties):
        self.run("show(...given)", part, properties)

    def await_value(self, script, value):
        await_true(lambda: self.run(script) == value, f"{script}: {value}", told=lambda: self.run(script))

    def await_text(self, text):
        self.await_value('return document.querySelector("#app").textContent', text)

    def await_subscribed(self, name):
        self.await_value(f"return fanfare.channel({name!r})?.isSubscribed", True)

    def await_gone(self, name):
        self.await_value(f"return fanfare.channel({name!r}) === undefined", True)
        assert self.run("return bound") == 0


@pytest.fixture(params=["React", "React, strict", "Vue"])
def page(request, browsers, scripts, broker):
    page = HookPage(browsers[0], scripts, broker, request.param)
    yield page
    page.run("fanfare.destroy(); bob.destroy();")


@pytest.fixture
def backend(broker):
    return pusher.Pusher(Broker.app_id, Broker.key, Broker.secret, host="127.0.0.1", port=broker.port, ssl=False)


def test_a_component_has_one_subscription_and_leaves_nothing_behind(page, backend):
    page.show("News")
    page.await_subscribed("news")
    for number in range(3):
        backend.trigger("news", "new", number)
        # Two events that arrive before a drawing are handled by the same one.
        page.await_text(str(number + 1))
    page.await_value("return told", [[0, 0], [1, 1], [2, 2]])
    page.show(None)
    page.await_gone("news")
    assert page.run("return [sent, sockets]") == [["subscribe news", "unsubscribe news"], 1]


def test_events_between_unmount_and_mount_arrive(page, backend):
    page.show("News")
    page.await_subscribed("news")
    backend.trigger("news", "new", "before")
    page.await_text("1")
    page.show(None)
    page.await_gone("news")
    backend.trigger("news", "new", "between")
    page.show("News")
    page.await_subscribed("news")
    backend.trigger("news", "new", "after")
    page.await_value("return told.map(([, data]) => data)", ["before", "between", "after"])


def test_a_component_that_replaces_another_one_keeps_its_subscription(page, backend):
    page.show("News", key=1)
    page.await_subscribed("news")
    page.show("News", key=2)
    backend.trigger("news", "new", "event")
    page.await_text("1")
    assert page.run("return sent") == ["subscribe news"]


def test_a_component_follows_its_channel_s_name(page, backend):
    page.show("News")
    page.await_subscribed("news")
    page.show("News", name="sport")
    page.await_subscribed("sport")
    page.await_value("return fanfare.channel('news') === undefined", True)
    backend.trigger(["news", "sport"], "new", "event")
    page.await_text("1")
    page.show("News", name="")
    page.await_gone("sport")


def test_a_subscription_of_the_app_itself_stays(page):
    page.run("fanfare.subscribe('news')")
    page.show("News")
    page.await_subscribed("news")
    page.show(None)
    page.await_text("")
    page.await_value("return bound", 0)
    assert page.run("return [sent, fanfare.channel('news').isSubscribed]") == [["subscribe news"], True]


def test_the_members_of_a_room_are_shown(page):
    page.show("Room")
    page.await_text("ann:ANN/ann")
    page.run("bob.subscribe('presence-room'); bob.connect();")
    page.await_text("ann:ANN,bob:BOB/ann")
    page.run("bob.destroy()")
    page.await_text("ann:ANN/ann")
    page.show(None)
    page.await_gone("presence-room")


def test_the_state_of_the_connection_is_shown(page):
    page.show("State")
    page.await_text("connected")
    page.run("fanfare.suspend()")
    page.await_text("suspended")
    page.run("fanfare.connect()")
    page.await_text("connected")
    page.show(None)
    page.await_value("return bound", 0)


def test_a_list_is_loaded_followed_and_edited_once_for_all_its_components(page, backend):
    page.show("Films2")
    page.await_text("Alien+Alien")
    page.await_subscribed("films")
    page.run("list.edit([live.put({ id: 2, title: 'Brazil' }, 1)])")
    page.await_text("Alien,Brazil?+Alien,Brazil?")
    change = {"revision": 2, "mutation": "m", "operations": [{"op": "put", "row": {"id": 2, "title": "Brazil"}, "after": 1}]}
    page.run("save()")
    backend.trigger("films", "list_changed", change)
    page.await_text("Alien,Brazil+Alien,Brazil")
    page.show(None)
    page.await_gone("films")
    # It continues where it was left, and has what was changed meanwhile.
    requests = page.run("return requests.length")
    change = {"revision": 3, "mutation": "n", "operations": [{"op": "remove", "id": 1}]}
    backend.trigger("films", "list_changed", change)
    page.show("Films")
    page.await_text("Brazil")
    assert page.run("return requests.length") == requests
    assert page.run("return sent") == ["subscribe films", "unsubscribe films", "subscribe films"]


def test_an_edit_is_sent_also_without_a_component(page):
    page.show("Films")
    page.await_text("Alien")
    page.run("list.edit([live.remove(1)])")
    page.await_text("")
    page.show(None)
    page.await_gone("films")
    assert page.run("return requests").count("POST /films/operations") == 1
    page.run("save()")
    page.await_value("return list.pendingIDs.size", 1)
