// The address: which view is open and what it shows. Every view can be linked to.
import { batch, computed, signal } from "@preact/signals";
import { addressOf, readPlace } from "page/lib/address.js";
import { html } from "page/lib/html.js";

export const VIEWS = ["timeline", "why", "inbox", "facts", "recall", "trust", "compare"];
// What goes along from view to view.
const LASTING = ["store", "agent", "ns", "at", "from", "to"];

export const view = signal("timeline");
export const params = signal({});

/** The commit that is looked at; null: the present. */
export const at = computed(() => (params.value.at ? Number(params.value.at) : null));

const readAddress = () => batch(() => {
  const [name, query] = readPlace();
  view.value = VIEWS.includes(name) ? name : "timeline";
  params.value = Object.fromEntries(new URLSearchParams(query));
});
readAddress();
addEventListener("popstate", readAddress);

/** Return the address of a view; parameters that are null are left out. */
export function href(name, changes = {}) {
  const own = {};
  for (const lasting of LASTING) if (params.value[lasting] !== undefined) own[lasting] = params.value[lasting];
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...own, ...changes })) {
    if (value !== null && value !== undefined && value !== "") query.set(key, String(value));
  }
  return addressOf(name, query.toString());
}

/** Open a view. */
export function go(address) {
  history.pushState(null, "", address);
  readAddress();
  scrollTo(0, 0);
}

/** Change parameters of the open view, without a new entry in the history. */
export function patch(changes) {
  const next = { ...params.value };
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") delete next[key];
    else next[key] = String(value);
  }
  history.replaceState(null, "", addressOf(view.value, new URLSearchParams(next).toString()));
  params.value = next;
}

/** A link inside the page. */
export function Link({ to, with: changes, children, ...rest }) {
  const address = href(to, changes);
  const open = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(address);
  };
  return html`<a href=${address} onClick=${open} ...${rest}>${children}</a>`;
}
