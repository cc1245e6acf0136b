// Calls to the server. The session is a cookie that no script can read; a change needs one header more.
import { signal } from "@preact/signals";
import { params } from "page/lib/route.js";

export const signedOut = signal(false);

/** An error of the server: what happened, and what to do. */
export class Problem extends Error {
  constructor(status, members) {
    super(members.detail ?? "The server gave no reason.");
    this.status = status;
    this.title = members.title ?? `Status ${status}`;
    this.kind = members.error ?? null;
  }
}

export async function request(method, path, { query, body, signal: stop, asBytes = false } = {}) {
  const text = query ? "?" + toQuery(query) : "";
  const headers = { accept: asBytes ? "*/*" : "application/json" };
  if (method !== "GET") headers["memoranda-csrf"] = "1";
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(`/v1${path}${text}`, { method, headers, signal: stop, body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { title: "The server does not answer", detail: "Is it still running? Start it again, and reload this page." });
  }
  if (response.ok) return response.status === 204 ? null : asBytes ? new Uint8Array(await response.arrayBuffer()) : response.json();
  const members = await response.json().catch(() => ({}));
  if (response.status === 401) signedOut.value = true;
  throw new Problem(response.status, members);
}

function toQuery(query) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined) continue;
    for (const item of Array.isArray(value) ? value : [value]) search.append(name, String(item));
  }
  return search.toString();
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
export function follow(query, onEvent, onState) {
  const source = new EventSource(`/v1${below("subscribe")}?${toQuery(query)}`);
  source.onmessage = (message) => onEvent(JSON.parse(message.data));
  source.onopen = () => onState(true);
  source.onerror = () => onState(false);
  return () => source.close();
}

/** Offer bytes or JSON to the viewer as a file. */
export function download(name, content, type = "application/json") {
  const text = typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content, null, 2) + "\n";
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
