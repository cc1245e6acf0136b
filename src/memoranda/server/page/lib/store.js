// What is open: the session, the store, the agent, its events, and the head of its log.
import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { follow, list, read, request, signedOut } from "page/lib/api.js";
import { at, params, patch } from "page/lib/route.js";
import { toMs } from "page/lib/time.js";

export const session = signal(null);
export const stores = signal([]);
export const agents = signal([]);
export const namespaces = signal([]);
export const stats = signal(null);
export const openNotices = signal(null);
export const bootProblem = signal(null);
const storeName = computed(() => params.value.store);
/** Whether new events arrive; null: it is not known yet. */
export const isLive = signal(null);
/** The newest event that arrived while the page was open. */
export const arrival = signal(null);

export const agent = computed(() => params.value.agent ?? agents.value[0]?.agent_id ?? null);
/** The agents to choose from; the one that the address names is among them, even if nothing is known of it. */
export const agentNames = computed(() => [...new Set([...agents.value.map(({ agent_id: name }) => name), ...(agent.value === null ? [] : [agent.value])])]);
export const namespace = computed(() => params.value.ns ?? null);
export const head = computed(() => arrival.value?.commit_ts ?? stats.value?.commits ?? 0);
export const canWrite = computed(() => session.value?.verbs.includes("write") ?? false);
export const canForget = computed(() => session.value?.verbs.includes("forget") ?? false);

/** Namespaces for people: those that begin with `_` are the engine's. */
const isOwn = (name) => !name.split("/").some((segment) => segment.startsWith("_"));

/** Where the engine keeps the notices of a namespace. */
const INBOX = "_invalidations";
/** The arguments that select the agent's part of the log; with a namespace, its notices are part of it. */
export const scopes = () => (namespace.value ? [namespace.value, `${namespace.value}/${INBOX}`].map((name) => ({ agent_id: agent.value, namespace: name })) : [{ agent_id: agent.value, all_namespaces: true }]);

/** Read a page of the agent's events. */
export async function replay(query, stop) {
  const pages = await Promise.all(scopes().map((scope) => read("replay", { ...scope, ...query }, { signal: stop })));
  return pages.length === 1 ? pages[0] : merge(pages);
}

/** Merge pages of events; one that was cut says nothing of what comes after its last event. */
function merge(pages) {
  const end = Math.min(...pages.filter(({ next_page_token: token }) => token !== null).map(({ items }) => items.at(-1).commit_ts));
  const events = new Map();
  for (const event of pages.flatMap(({ items }) => items)) {
    const operations = [...(events.get(event.commit_ts)?.operations ?? []), ...event.operations];
    if (event.commit_ts <= end) events.set(event.commit_ts, { ...event, operations });
  }
  const items = [...events.values()].sort((one, other) => one.commit_ts - other.commit_ts);
  return { items, next_page_token: end === Infinity ? null : "more" };
}

/** Sign in if needed, and read what there is. */
export async function boot() {
  bootProblem.value = null;
  try {
    session.value = await request("GET", "/session");
    signedOut.value = false;
    const answer = await request("GET", "/stores");
    stores.value = answer.items.map((item) => item.name);
    if (!params.value.store && stores.value.length > 1) patch({ store: session.value.store ?? stores.value[0] });
    await readStore();
  } catch (problem) {
    if (!signedOut.value) bootProblem.value = problem;
  }
}

/** Milliseconds until an empty store is looked at again. */
const LOOK_AGAIN = 10_000;

/** The name of the store that was read last. */
let nameRead = null;

export async function readStore() {
  nameRead = storeName.peek();
  const [agentPage, spacePage, figures] = await Promise.all([list("agents"), list("namespaces"), read("stats").catch(() => null)]);
  const byActivity = (one, other) => other.last_commit - one.last_commit;
  agents.value = agentPage.items.filter((item) => isOwn(item.agent_id)).sort(byActivity);
  namespaces.value = spacePage.items.map((item) => item.namespace).filter(isOwn);
  stats.value = figures ?? { commits: Math.max(0, ...agentPage.items.map((item) => item.last_commit)) };
  arrival.value = null;
  if (!agents.value.length) setTimeout(() => readStore().catch((problem) => { bootProblem.value = problem; }), LOOK_AGAIN);
  await countNotices();
}

effect(() => {
  // A link, or the browser's way back, leads to another store.
  if (storeName.value === nameRead || !stats.peek()) return;
  stats.value = null;
  readStore().catch((problem) => { bootProblem.value = problem; });
});

let counting = null;
/** Count what waits for a decision; calls that come meanwhile share the next count. */
export function countNotices() {
  counting ??= Promise.resolve().then(() => { counting = null; return readNotices(); });
  return counting;
}

async function readNotices() {
  if (!agent.value) return;
  const { items, more } = await list("invalidations", { agent_id: agent.value }, { limit: 100 }).catch(() => ({ items: [], more: false }));
  openNotices.value = { count: items.length, more };
}

// Live: one stream for the agent that is looked at, while the page is in sight. A browser opens few connections to a
// server: pages in the background that kept theirs would leave none to others.
const isInSight = signal(!document.hidden);
/** Commits missed in the background that are followed one by one; if there are more, the store is read again. */
const MISSED = 500;
document.addEventListener("visibilitychange", async () => {
  try {
    if (!document.hidden && stats.value && (await read("stats")).commits - head.value > MISSED) await readStore();
  } catch { /* the stream says that the server does not answer */ }
  isInSight.value = !document.hidden;
});

const NOTICES = ["notify", "resolve"];
function arrive(event) {
  const names = new Set([...namespaces.value, ...event.operations.map((operation) => operation.namespace).filter(isOwn)]);
  batch(() => {
    if (names.size > namespaces.value.length) namespaces.value = [...names].sort();
    arrival.value = event;
  });
  if (event.operations.some(({ type }) => NOTICES.includes(type))) countNotices();
}

let end = null;
effect(() => {
  const name = agent.value;
  void storeName.value;
  if (end) end();
  end = null;
  if (!name || !stats.value || !isInSight.value) return;
  // Of the address, only the store matters here: else every step would end the stream and begin another.
  end = untracked(() => follow({ agent_id: name, all_namespaces: true, after_commit: head.value }, arrive, (state) => { isLive.value = state; }));
});

/** Find the first event at or after a time; null if there is none. */
export async function seekTime(text, stop) {
  const page = await replay({ from_timestamp: text, limit: 1 }, stop);
  return page.items[0] ?? null;
}

export const timeOf = (event) => toMs(event.committed_at);
export const moment = computed(() => at.value ?? head.value);
