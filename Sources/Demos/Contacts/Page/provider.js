// Provides the service behind the screens. Every service has these methods:
//
// - `people(take)`, `person(id, take)`: follow a model. `take` is called with `{ revision, model }` immediately and
//   whenever the model has changed, or with `{ error }`; call the returned function to stop. A missing contact is null.
// - `add({ id, name, phone, email, note })`, `change(id, fields)`, `remove(id)`: promises; a refusal has a `message`,
//   and a `field` if it is about one.
// - `reload()`: fetches all followed models again.

import { BackendService } from "./backend-service.js";
import { BrowserService } from "./browser-service.js";

export function provideService() {
  const store = new URLSearchParams(location.search).get("store");
  return store === "browser" ? new BrowserService() : new BackendService();
}
