// Calls to the server. The session is a cookie that no script can read; a change needs one header more.
import { signal } from "@preact/signals";
import { listen, send } from "page/lib/carrier.js";
import { params } from "page/lib/route.js";

export const signedOut = signal(false);

export async function request(method, path, options) {
  try {
    return await send(method, path, options);
  } catch (problem) {
    if (problem.status === 401) signedOut.value = true;
    throw problem;
  }
}

export const part = encodeURIComponent;
const below = (path, store) => `/stores/${part(store ?? params.value.store ?? "-")}${path ? "/" + path : ""}`;

/** Read below the store. */
export const read = (path, query, options = {}) => request("GET", below(path, options.store), { ...options, query });

/** Make a call that is a `POST` to its name. */
export const ask = (path, body = {}, options = {}) => request("POST", below(path, options.store), { ...options, body });

/** Read items page by page, up to a limit; `more`: there are others. */
export async function list(path, query = {}, { limit = 500, ...options } = {}) {
  const items = [];
  let token = null;
  do {
    const page = await read(path, { ...query, limit: Math.min(limit - items.length, 1000), page_token: token }, options);
    items.push(...page.items);
    token = page.next_page_token;
  } while (token && items.length < limit);
  return { items, more: Boolean(token) };
}

/** Follow commits as they arrive; return what ends it. */
export const follow = (query, onEvent, onState) => listen(below("subscribe"), query, onEvent, onState);

/** Offer bytes or JSON to the viewer as a file. */
export function download(name, content, type = "application/json") {
  const text = typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content, null, 2) + "\n";
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
