// Provides the service behind the screens. They know only what every service can do:
//
// - `people(take)`, `person(id, take)`: follow a model. `take` is called with `{ revision, model }` now and whenever
//   the model has changed, or with `{ error }`; what is returned ends that. A contact that is not there is null.
// - `add({ id, name, phone, email, note })`, `change(id, fields)`, `remove(id)`: promises; a refusal has a `message`,
//   and a `field` if it is about one.
// - `reload()`: asks for all followed models once more.

import { BackendService } from "./backend-service.js";
import { BrowserService } from "./browser-service.js";

export function provideService() {
  const store = new URLSearchParams(location.search).get("store");
  return store === "browser" ? new BrowserService() : new BackendService();
}
