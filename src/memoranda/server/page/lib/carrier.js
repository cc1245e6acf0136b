// What carries calls to a server. In a file that was exported, `offline/carrier.js` stands in its place.
import { Problem, unreachable } from "page/lib/problem.js";

/** What an exported file says of itself; null: there is a server. */
export const story = null;

export async function send(method, path, { query, body, signal: stop, asBytes = false, onProgress } = {}) {
  const text = query ? "?" + toQuery(query) : "";
  const headers = { accept: asBytes ? "*/*" : onProgress ? "application/x-ndjson" : "application/json" };
  if (method !== "GET") headers["memoranda-csrf"] = "1";
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(`/v1${path}${text}`, { method, headers, signal: stop, body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw unreachable();
  }
  if (response.ok && onProgress) return readLines(response, onProgress);
  if (response.ok) return response.status === 204 ? null : asBytes ? new Uint8Array(await response.arrayBuffer()) : response.json();
  throw new Problem(response.status, await response.json().catch(() => ({})));
}

/** Return the answer of a call that takes long; `onProgress` is told how far it is. */
async function readLines(response, onProgress) {
  let [rest, last] = ["", {}];
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      last = JSON.parse(line);
      if (last.progress) onProgress(last.progress);
    }
  }
  if ("answer" in last) return last.answer;
  throw new Problem(last.status ?? 0, last.status ? last : { title: "The server stopped", detail: "It ended before the work was done. Try again." });
}

function toQuery(query) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined) continue;
    for (const item of Array.isArray(value) ? value : [value]) search.append(name, String(item));
  }
  return search.toString();
}

/** Follow a stream of the server; return what ends it. */
export function listen(path, query, onEvent, onState) {
  const source = new EventSource(`/v1${path}?${toQuery(query)}`);
  source.onmessage = (message) => onEvent(JSON.parse(message.data));
  source.onopen = () => onState(true);
  source.onerror = () => onState(false);
  return () => source.close();
}
