// Programs and commands with the host, port and key of this broker.

import { byId, copy, fillApps, make, shellWord } from "./console-page.js";

/** How clients and backends reach the broker: the page's own host, unless the broker listens on one address. */
function place(session) {
  const isTLS = session.port === null && session.tlsPort !== null;
  const isAny = ["0.0.0.0", "::"].includes(session.host);
  const host = isAny ? location.hostname : session.host;
  const name = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  const port = isTLS ? session.tlsPort : session.port;
  const scheme = isTLS ? "https" : "http";
  return { isTLS, host, port, scheme, url: `${scheme}://${name}:${port}${session.path}` };
}

const secretOf = (app) => app.secret ?? "the-secret-of-the-app";
const appOf = (session, id) => session.apps.find((app) => app.id === id) ?? session.apps[0];

/** An event as the command that sends it again. */
export function triggerText(session, { app: id, channel, event, data }) {
  const [app, { url }] = [appOf(session, id), place(session)];
  // Behind "--" nothing is an option, whatever it begins with.
  const words = ["fanfare", "trigger", `--channel=${channel}`, "--url", url, "--app-id", app.id, "--key", app.key, "--", event, data];
  return `FANFARE_APP_SECRET=${shellWord(secretOf(app))} ${words.map(shellWord).join(" ")}`;
}

/** An event as a request that a shell signs with OpenSSL. */
export function curlText(session, { app: id, channel, event, data }) {
  const [app, { url }] = [appOf(session, id), place(session)];
  const body = JSON.stringify({ name: event, channels: [channel], data });
  return `secret=${shellWord(secretOf(app))}
body=${shellWord(body)}
path=/apps/${app.id}/events
query="auth_key=${app.key}&auth_timestamp=$(date +%s)&auth_version=1.0"
query="$query&body_md5=$(printf %s "$body" | openssl md5 | sed 's/.* //')"
signature=$(printf 'POST\\n%s\\n%s' "$path" "$query" | openssl sha256 -hmac "$secret" | sed 's/.* //')
curl -H 'Content-Type: application/json' -d "$body" "${url}$path?$query&auth_signature=$signature"`;
}

function snippets(session, app) {
  const { isTLS, host, port, scheme, url } = place(session);
  const secret = secretOf(app);
  const path = session.path ? `\n  wsPath: "${session.path}",` : "";
  const event = { app: app.id, channel: "my-channel", event: "my-event", data: '{"message":"hello"}' };
  return [
    ["pusher-js", `const pusher = new Pusher("${app.key}", {
  cluster: "",
  wsHost: "${host}",
  ${isTLS ? "wssPort" : "wsPort"}: ${port},
  forceTLS: ${isTLS},${path}
  enabledTransports: ["ws", "wss"],
});
pusher.subscribe("my-channel").bind("my-event", (data) => console.log(data));`],
    ["Add-on for pusher-js", `<!-- Missed events arrive after a reconnect. After pusher-js, before new Pusher. -->
<script src="${url}/fanfare-pusher.js"></script>`],
    ["Laravel Echo", `window.Pusher = Pusher;
window.Echo = new Echo({
  broadcaster: "pusher",
  key: "${app.key}",
  cluster: "",
  wsHost: "${host}",
  ${isTLS ? "wssPort" : "wsPort"}: ${port},
  forceTLS: ${isTLS},${path}
  enabledTransports: ["ws", "wss"],
});
Echo.channel("my-channel").listen(".my-event", (data) => console.log(data));`],
    ["Node", `import Pusher from "pusher";

const pusher = new Pusher({
  appId: "${app.id}", key: "${app.key}", secret: "${secret}",
  host: "${host}", port: "${port}", useTLS: ${isTLS},
});
await pusher.trigger("my-channel", "my-event", { message: "hello" });`],
    ["PHP", `$pusher = new Pusher\\Pusher("${app.key}", "${secret}", "${app.id}", [
    "host" => "${host}", "port" => ${port}, "scheme" => "${scheme}", "useTLS" => ${isTLS},
]);
$pusher->trigger("my-channel", "my-event", ["message" => "hello"]);`],
    ["Ruby", `require "pusher"

pusher = Pusher::Client.new(
  app_id: "${app.id}", key: "${app.key}", secret: "${secret}",
  host: "${host}", port: ${port}, scheme: "${scheme}",
)
pusher.trigger("my-channel", "my-event", { message: "hello" })`],
    ["Go", `client := pusher.Client{
	AppID: "${app.id}", Key: "${app.key}", Secret: "${secret}",
	Host: "${host.includes(":") ? `[${host}]` : host}:${port}", Secure: ${isTLS},
}
err := client.Trigger("my-channel", "my-event", map[string]string{"message": "hello"})`],
    ["Laravel .env", `BROADCAST_CONNECTION=pusher
PUSHER_APP_ID=${app.id}
PUSHER_APP_KEY=${app.key}
PUSHER_APP_SECRET=${secret}
PUSHER_HOST=${host}
PUSHER_PORT=${port}
PUSHER_SCHEME=${scheme}
PUSHER_APP_CLUSTER=mt1

VITE_PUSHER_APP_KEY="\${PUSHER_APP_KEY}"
VITE_PUSHER_HOST="\${PUSHER_HOST}"
VITE_PUSHER_PORT="\${PUSHER_PORT}"
VITE_PUSHER_SCHEME="\${PUSHER_SCHEME}"
VITE_PUSHER_APP_CLUSTER="\${PUSHER_APP_CLUSTER}"`],
    ["Python", `import pusher

client = pusher.Pusher(
    app_id="${app.id}", key="${app.key}", secret="${secret}",
    host="${host}", port=${port}, ssl=${isTLS ? "True" : "False"},
)
client.trigger("my-channel", "my-event", {"message": "hello"})`],
    ["Swift", `import FanfareAPI

let api = try BrokerAPI(appID: "${app.id}", key: "${app.key}", secret: "${secret}", url: "${url}")
try await api.trigger("my-event", on: "my-channel", data: ["message": "hello"])`],
    ["fanfare trigger", triggerText(session, event)],
    ["curl", curlText(session, event)],
  ];
}

/** Prepares the view. */
export function startSnippets(session) {
  const select = byId("snippet-app").elements.app;
  fillApps(select, session.apps);
  const show = () => {
    const app = appOf(session, select.value);
    if (!app) return byId("snippet-list").replaceChildren();
    byId("snippet-note").textContent = app.secret
      ? "This is the development app, whose secret is public: use your own app if others can reach the broker."
      : "The app’s secret is in the configuration; it is not shown here.";
    byId("snippet-list").replaceChildren(...snippets(session, app).map(([name, text]) =>
      make("div", { class: "snippet" },
        make("h3", {}, name, make("button", {
          type: "button", class: "quiet", "aria-label": `Copy ${name}`, onclick: () => copy(text, name),
        }, "Copy")),
        make("pre", { tabindex: "0", "aria-label": name }, text))));
  };
  select.addEventListener("change", show);
  show();
}
