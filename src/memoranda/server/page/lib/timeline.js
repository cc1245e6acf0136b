// The agent's events on the axis of time: counts for the strip, and the part of them that is listed.
import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { read } from "page/lib/api.js";
import { matches } from "page/lib/operations.js";
import { at, params, patch } from "page/lib/route.js";
import { agent, agents, arrival, head, namespace, replay, scopes, seekTime, stats, timeOf } from "page/lib/store.js";
import { toMs, toText } from "page/lib/time.js";

const BUCKETS = 480;
const PAGE = 200;
/** Items of a page at most, by the server's rule. */
const MAX_PAGE = 1000;
/** Events before and after the one that is looked at, so that one can step at once. */
const AROUND = 60;
const REFRESH_MS = 1000;

export const buckets = signal([]);
export const bucketsProblem = signal(null);
const NOTHING = { items: [], scanned: 0, more: false, hasEarlier: false, last: null, isLoading: true };
/** The listed events; `hasEarlier`, `more`: there may be others before, after; `last`: the commit up to which they were read. */
export const listed = signal(NOTHING);
export const kinds = computed(() => (params.value.kinds ? params.value.kinds.split(",") : null));
export const text = computed(() => params.value.q ?? "");

/** The event that is looked at: the last listed one up to the moment. */
export const currentIndex = computed(() => {
  const { items } = listed.value;
  if (at.value === null) return items.length - 1;
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items[middle].commit_ts <= at.value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
});
export const currentEvent = computed(() => listed.value.items[currentIndex.value] ?? null);

// Counts.

async function readBuckets(stop) {
  const { from, to } = params.value;
  const count = (from_timestamp, to_timestamp) => Promise.all(scopes().map((scope) => read(`agents/${encodeURIComponent(agent.value)}/timeline-buckets`, { ...scope, agent_id: null, from_timestamp, to_timestamp, buckets: BUCKETS }, { signal: stop })));
  let parts = (await count(from, to)).filter(({ length }) => length);
  if (parts.length > 1 && !(from && to)) {
    // Without a range, each scope has that of its own events: all are counted again over the range of all.
    const starts = parts.map(([{ start }]) => start).sort((one, other) => toMs(one) - toMs(other));
    const ends = parts.map((part) => part.at(-1).end).sort((one, other) => toMs(one) - toMs(other));
    parts = await count(starts[0], ends.at(-1));
  }
  const [first = [], ...others] = parts;
  return first.map((bucket, index) => {
    const same = [bucket, ...others.map((part) => part[index])];
    return { start: toMs(bucket.start), end: toMs(bucket.end), counts: addUp(same.map(({ counts }) => counts)), events: same.reduce((sum, { events }) => sum + events, 0) };
  });
}

function addUp(all) {
  const sums = {};
  for (const counts of all) for (const [kind, count] of Object.entries(counts)) sums[kind] = (sums[kind] ?? 0) + count;
  return sums;
}

let counting = null;
async function refresh({ reopen }) {
  counting?.abort();
  counting = new AbortController();
  const stop = counting.signal;
  try {
    buckets.value = await readBuckets(stop);
    bucketsProblem.value = null;
    if (reopen) await openWindow();
  } catch (problem) {
    noteProblem(problem);
  }
}

const selection = computed(() => JSON.stringify([params.value.store, agent.value, namespace.value, params.value.from, params.value.to, params.value.kinds, params.value.q, stats.value?.log_id]));
effect(() => {
  void selection.value;
  if (agent.value && stats.value) untracked(() => refresh({ reopen: true }));
});

let isDue = false;
effect(() => {
  if (!arrival.value) return;
  untracked(() => {
    if (isDue) return;
    isDue = true;
    setTimeout(async () => {
      isDue = false;
      await refresh({ reopen: false });
      await readArrived().catch(noteProblem);
    }, listed.value.items.length ? REFRESH_MS / 4 : 0);
  });
});

/** Read what has arrived; if it is more than one page, and the present is looked at, go there. */
async function readArrived() {
  if (listed.value.isLoading) return;
  if (!listed.value.more) await later();
  if (listed.value.more && at.value === null && !text.value) await openWindow(null);
}

// The listed part.

let opening = null;

/** Read events forward from a commit or a time, until enough of them match; `onPage` is told what there is so far. */
async function forward(query, wanted, stop, onPage = () => {}) {
  let result = { items: [], scanned: 0, more: true, last: null };
  let position = query;
  while (result.more && result.items.length < wanted) {
    const page = await replay({ kinds: kinds.value, ...position, to_timestamp: params.value.to, limit: text.value ? MAX_PAGE : Math.min(MAX_PAGE, wanted) }, stop);
    const items = page.items.filter((event) => event.operations.length && (!text.value || matches(event, text.value)));
    result = { items: [...result.items, ...items], scanned: result.scanned + page.items.length, more: page.next_page_token !== null, last: page.items.at(-1)?.commit_ts ?? result.last };
    position = { after_commit: result.last };
    onPage(result);
  }
  return result;
}

/** Read the last events up to a commit: at least so many, or all there are. */
async function backward(end, wanted, stop) {
  // A log is read forwards: so the reading begins as many commits before as should have enough of the agent's events.
  const isZoomed = params.value.from || params.value.to;
  const events = isZoomed ? agents.value.find(({ agent_id }) => agent_id === agent.value)?.commits : buckets.value.reduce((sum, bucket) => sum + bucket.events, 0);
  let reach = Math.ceil((1.5 * wanted * Math.max(1, head.value)) / Math.max(1, events ?? head.value));
  let [tooFew, tooMany] = [0, Infinity];
  for (;;) {
    const after = Math.max(0, end - reach);
    const page = await replay({ kinds: kinds.value, from_timestamp: params.value.from, to_timestamp: params.value.to, after_commit: after, through_commit: end, limit: Math.min(MAX_PAGE, 8 * wanted) }, stop);
    const isCut = page.next_page_token !== null;
    if (isCut && reach - tooFew > 1) tooMany = reach;
    else if (page.items.length < wanted && after > 0 && tooMany - reach > 1) tooFew = reach;
    else return { items: page.items.filter((event) => event.operations.length), hasEarlier: after > 0 };
    reach = tooMany === Infinity ? reach * 4 : Math.ceil((tooFew + tooMany) / 2);
  }
}

/** Read the events around a commit, and look at it; null: the present. */
export async function openWindow(target = at.value) {
  opening?.abort();
  opening = new AbortController();
  const stop = opening.signal;
  listed.value = { ...listed.value, isLoading: true };
  if (!buckets.value.length) {
    listed.value = { ...NOTHING, isLoading: false };
    return;
  }
  if (text.value) {
    listed.value = { ...NOTHING };
    await searchOn(stop);
    return;
  }
  const result = await around(target, stop);
  batch(() => {
    listed.value = { ...result, isLoading: false };
    if (target !== at.value) patch({ at: target });
  });
}

async function around(target, stop) {
  const end = target === null ? await lastCommit(stop) : Math.min(target, head.value);
  const [before, after] = await Promise.all([backward(end, AROUND, stop), target === null ? NOTHING : forward({ after_commit: end, from_timestamp: params.value.from }, AROUND, stop)]);
  return { items: [...before.items, ...after.items], scanned: 0, more: after.more, hasEarlier: before.hasEarlier, last: after.last ?? end };
}

/** Return the last commit of the time that is shown. */
async function lastCommit(stop) {
  const next = params.value.to ? await seekTime(params.value.to, stop) : null;
  return next ? next.commit_ts - 1 : head.value;
}

/** Read on after the last event that was read. */
async function readOn(stop, { isShownEarly = false } = {}) {
  const state = listed.value;
  const position = state.last === null ? {} : { after_commit: state.last };
  const add = (result, isLoading) => { listed.value = { ...state, items: [...state.items, ...result.items], scanned: state.scanned + result.scanned, more: result.more, last: result.last ?? state.last, isLoading }; };
  const result = await forward({ from_timestamp: params.value.from, ...position }, PAGE, stop, isShownEarly ? (part) => add(part, true) : undefined);
  add(result, false);
}

export const later = () => readOn();

/** Search on for the text until a page of events is full; what matches is listed at once. */
async function searchOn(stop) {
  listed.value = { ...listed.value, isLoading: true };
  await readOn(stop, { isShownEarly: true });
}

export function searchFurther() {
  opening = new AbortController();
  return searchOn(opening.signal).catch(noteProblem);
}

/** End a search; what it has found stays. */
export function stopSearch() {
  opening?.abort();
  listed.value = { ...listed.value, more: true, isLoading: false };
}

export async function earlier() {
  const state = listed.value;
  if (!state.hasEarlier || state.isLoading || !state.items.length) return;
  listed.value = { ...state, isLoading: true };
  const { items, hasEarlier } = await backward(state.items[0].commit_ts - 1, PAGE);
  listed.value = { ...listed.value, items: [...items, ...listed.value.items], hasEarlier, isLoading: false };
}

function noteProblem(problem) {
  if (problem.name !== "AbortError") bucketsProblem.value = problem;
}

/** Read the events around a commit; a newer wish ends an older one. */
const reopen = (commit) => openWindow(commit).catch(noteProblem);

// Moving.

/** Look at a commit. */
export async function lookAt(commit) {
  const { items, more, hasEarlier } = listed.value;
  const isBefore = items.length && commit < items[0].commit_ts && hasEarlier;
  const isAfter = items.length && commit > items.at(-1).commit_ts && more;
  if (isBefore || isAfter) await reopen(commit);
  else patch({ at: commit });
}

/** Go on to the present, and stay there. */
export const lookAtPresent = () => (listed.value.more && !text.value ? reopen(null) : patch({ at: null }));

/** Look at the event before or after. */
export async function step(by) {
  if (by < 0 && currentIndex.value <= 0) await earlier();
  if (by > 0 && currentIndex.value >= listed.value.items.length - 1 && listed.value.more && !text.value) await later();
  const { items } = listed.value;
  const event = items[Math.max(0, Math.min(items.length - 1, currentIndex.value + by))];
  if (event) patch({ at: event.commit_ts });
}

let seeking = null;
/** Look at the event nearest to a time; while one request runs, only the newest wish is kept. */
export async function seek(ms) {
  if (seeking) {
    seeking.next = ms;
    return;
  }
  seeking = { next: ms };
  try {
    while (seeking.next !== null) {
      const time = seeking.next;
      seeking.next = null;
      const near = nearest(time);
      const event = near ?? (await seekTime(toText(time)));
      if (event) await lookAt(event.commit_ts);
      else await lookAtPresent();
    }
  } finally {
    seeking = null;
  }
}

/** Return the listed event at or after a time, if the list covers that time without a gap. */
function nearest(ms) {
  const { items, hasEarlier } = listed.value;
  if (!items.length || text.value) return items.find((event) => timeOf(event) >= ms) ?? items.at(-1) ?? null;
  if (ms < timeOf(items[0]) && hasEarlier) return null;
  return items.find((event) => timeOf(event) >= ms) ?? null;
}

/** Show a range of time only; without one, all of it. */
export const zoom = (from, to) => patch({ from: from === null ? null : toText(from), to: to === null ? null : toText(to) });
