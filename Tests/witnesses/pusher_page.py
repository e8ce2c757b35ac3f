"""A page with pusher-js, with the broker's add-on or without, and what it has heard."""

import json

from programs import await_true

# Signs in the page itself, as no app may: the secret of the development app is known to everyone.
OPEN = """
    const [pusherJS, addOn, port, secret, { userID = "ann", sharedSecrets, ...more }] = given;
    for (const src of [pusherJS, addOn].filter(Boolean)) {
        await new Promise((resolve, reject) => {
            const script = Object.assign(document.createElement("script"), { src, onload: resolve, onerror: reject });
            document.head.append(script);
        });
    }
    const text = new TextEncoder();
    const key = await crypto.subtle.importKey(
        "raw", text.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    async function sign(message) {
        const bytes = new Uint8Array(await crypto.subtle.sign("HMAC", key, text.encode(message)));
        return "app-key:" + [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    }
    window.signatures = 0;
    async function signed({ socketId, channelName }) {
        signatures += 1;
        // The backend answers later, if a test has it so.
        await window.held;
        if (!channelName) {
            const user_data = JSON.stringify({ id: userID });
            return { auth: await sign(`${socketId}::user::${user_data}`), user_data };
        }
        if (channelName.startsWith("private-encrypted-")) {
            return { auth: await sign(`${socketId}:${channelName}`), shared_secret: sharedSecrets[channelName] };
        }
        if (!channelName.startsWith("presence-")) return { auth: await sign(`${socketId}:${channelName}`) };
        const channel_data = JSON.stringify({ user_id: userID, user_info: {} });
        return { auth: await sign(`${socketId}:${channelName}:${channel_data}`), channel_data };
    }
    const customHandler = (request, callback) => signed(request).then((data) => callback(null, data), callback);
    window.options = {
        wsHost: "127.0.0.1", wsPort: port, forceTLS: false, enabledTransports: ["ws", "wss"], cluster: "",
        channelAuthorization: { customHandler }, userAuthentication: { customHandler }, ...more,
    };
    window.connect = () => new Pusher("app-key", options);
    window.pusher = connect();
    window.heard = [];
    window.loads = [];
    window.follow = (name, options, ...events) => {
        const channel = pusher.subscribe(name, options);
        for (const event of events) channel.bind(event, (data) => heard.push([event, data]));
        return channel;
    };
    window.hold = () => { window.held = new Promise((resolve) => { window.release = resolve; }); };
    window.errors = [];
    pusher.connection.bind("error", ({ type, error }) => type === "RecoveryError" && errors.push(error.message));
"""


class PusherPage:
    """One page; `port` is the broker's, or that of a line to it.

    The options are those of pusher-js, `userID`, and `sharedSecrets` of encrypted channels by their names.
    """

    def __init__(self, page, site, pusher_js, broker, port, has_add_on=True, **options):
        self._page = page
        page.open(site)
        add_on = f"{broker.url}/fanfare-pusher.js" if has_add_on else None
        page.run(OPEN, pusher_js, add_on, port, broker.secret, options)
        await_true(lambda: self.state == "connected", "a connection")

    def run(self, script, *arguments):
        return self._page.run(script, *arguments)

    def follow(self, name, *events, **options):
        self.run("follow(...given)", name, options, *events)
        self.await_subscribed(name)

    def await_subscribed(self, name):
        await_true(
            lambda: self.run("return pusher.channel(given[0])?.subscribed", name), f"a subscription to {name}", seconds=40
        )

    def position(self, name):
        return self.run("return pusher.channel(given[0]).position", name)

    @property
    def state(self):
        return self.run("return pusher.connection.state")

    @property
    def heard(self):
        return self.run("return heard")

    @property
    def new(self):
        """The data of the events called new."""
        return [data for event, data in self.heard if event == "new"]

    def heard_of(self, event):
        return [data for name, data in self.heard if name == event]

    def await_new(self, expected):
        await_true(lambda: len(self.new) >= len(expected), "the events", seconds=40, told=lambda: json.dumps(self.heard))
        assert self.new == expected, json.dumps(self.heard)

    def await_connection(self, after):
        """Waits for a connection with another socket ID."""
        await_true(lambda: self.socket_id != after and self.state == "connected", "another connection", seconds=40)

    @property
    def socket_id(self):
        return self.run("return pusher.connection.socket_id")

    def await_cut(self):
        """Where no other connection can follow at once."""
        await_true(lambda: self.state != "connected", "that the connection has ended")
