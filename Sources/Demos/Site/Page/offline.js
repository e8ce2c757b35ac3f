// The button "Go offline" of a page: a real cut of its connection and its requests, to see what comes back behind it.

import { setOffline } from "./backend.js";
import { element } from "./site.js";

/** Lets the page's button, if it has one, cut the connection of `client` and open it again. */
export function offerOffline(client) {
  const button = element("offline");
  if (!button) return;
  button.hidden = false;
  let isOffline = false;
  button.addEventListener("click", () => {
    isOffline = !isOffline;
    button.textContent = isOffline ? "Go online" : "Go offline";
    setOffline(isOffline);
    if (isOffline) return client.suspend();
    client.connect();
    // What waits for its next attempt goes on at once, as when the network is there again.
    dispatchEvent(new Event("online"));
  });
}
