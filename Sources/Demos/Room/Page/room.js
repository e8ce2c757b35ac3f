// The page of the room. Its presence channel has who is here, who is typing and everyone's pointer; its encrypted
// channel has the messages.

import { connect, sharedSecrets } from "/broker.js";
import { me, pageID } from "/me.js";
import { People } from "/people.js";
import { element, notice, showContinuity, showProblem, speak } from "/site.js";
import { decrypt } from "./fanfare-encrypted.js";
import { Messages } from "./messages.js";
import { Pointers } from "./pointers.js";
import { Typing } from "./typing.js";

const CHANNEL = "private-encrypted-room";

// Messages

const messages = new Messages();

messages.onchange = () => {
  const list = element("messages");
  const isAtEnd = list.scrollTop + list.clientHeight > list.scrollHeight - 40;
  list.replaceChildren(...messages.all.map(messageElement));
  element("quiet").hidden = messages.all.length > 0;
  if (isAtEnd) list.scrollTop = list.scrollHeight;
};

function messageElement({ user, name, text, isWaiting }) {
  const item = document.createElement("li");
  item.className = [user === me.id ? "own" : "", isWaiting ? "pending" : ""].join(" ").trim();
  if (people) item.style.setProperty("--hue", people.hue(user));
  const author = document.createElement("b");
  author.textContent = name;
  const said = document.createElement("span");
  said.textContent = text;
  item.append(author, said);
  return item;
}

element("say").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = element("text").value.trim();
  if (!text) return;
  element("text").value = "";
  typing.ended();
  messages.say(text);
  element("messages").scrollTop = element("messages").scrollHeight;
});

// The last message stays in view when the screen turns or a keyboard opens.
new ResizeObserver(([{ target }]) => { target.scrollTop = target.scrollHeight; }).observe(element("messages"));

// The encrypted channel

function followMessages(client, options) {
  let channel;
  try {
    channel = client.subscribe(CHANNEL, options);
  } catch {
    messages.load();
    return showProblem("encryption", "New messages cannot be decrypted.",
      "This build of pusher-js has no encryption: start the demos with --pusher-js and pusher-with-encryption.min.js.");
  }
  let missed = 0;
  channel.bind("message", (data, { isMissed }) => {
    element("sealed").textContent = JSON.stringify(data);
    let message;
    try {
      message = unsealed(data);
    } catch {
      return followAnew(client);
    }
    if (messages.receive(message)) {
      if (isMissed) missed += 1;
      speak(`${message.name}: ${message.text}`);
    }
  });
  channel.bind("pusher:continuity", (continuity) => {
    if (continuity.kind !== "resumed") messages.load();
    showContinuity(continuity, missed);
    missed = 0;
  });
}

/** pusher-js has decrypted the data of an event itself. */
const unsealed = (data) => (data?.ciphertext ? decrypt(data, sharedSecrets.get(CHANNEL) ?? "") : data);

/** The key for which an event could not be opened; the backend may have another one since. */
let formerKey = null;

function followAnew(client) {
  const key = sharedSecrets.get(CHANNEL);
  if (key === formerKey) return notice("A message could not be decrypted.");
  formerKey = key;
  client.unsubscribe(CHANNEL);
  // All messages are loaded, with that one.
  followMessages(client, { fresh: true });
}

// Who is here

let people = null;
let presence = null;

const typing = new Typing(element("typing"), (state) => presence?.trigger("client-typing", state));
const pointers = new Pointers(element("room"), element("pointers"), (place) =>
  presence?.trigger("client-pointer", { page: pageID, ...place }, { transient: true }));

element("text").addEventListener("input", ({ target }) => typing.changed(target.value));

const isFraction = (number) => typeof number === "number" && number >= 0 && number <= 1;

function followPeople(client) {
  presence = client.subscribe("presence-room");
  people = new People(element("people"), presence);
  const show = () => {
    people.show();
    messages.onchange();
  };
  presence.bind("pusher:subscription_succeeded", show);
  presence.bind("pusher:member_added", ({ id }) => {
    show();
    speak(`${people.name(id)} is here.`);
  });
  presence.bind("pusher:member_removed", ({ id, info }) => {
    show();
    speak(`${info?.name ?? "A user"} has left.`);
    typing.heard(id, "", false);
    pointers.removeWhere((_, { user }) => user === id);
  });
  // Any member of the channel can send any data.
  presence.bind("client-typing", (data, { userID }) => {
    if (userID !== me.id) typing.heard(userID, people.name(userID), data?.isTyping === true);
  });
  presence.bind("client-pointer", (data, { userID }) => {
    if (typeof data?.page !== "string" || data.page === pageID) return;
    if (data.gone) return pointers.removeWhere((page) => page === data.page);
    if (!isFraction(data.x) || !isFraction(data.y)) return;
    pointers.show(data.page, data, { user: userID, name: people.name(userID), hue: people.hue(userID) });
  });
}

connect((client) => {
  followPeople(client);
  followMessages(client);
  const show = client.onstate;
  client.onstate = (state, detail) => {
    show(state, detail);
    // Pointers of others stand still while nothing arrives.
    if (state !== "connected") pointers.removeWhere(() => true);
  };
  addEventListener("pagehide", () => client.disconnect());
  addEventListener("pageshow", ({ persisted }) => persisted && client.connect());
});
