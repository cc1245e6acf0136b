// What an agent knew at a moment: keys, memories and facts of one namespace.
import { effect } from "@preact/signals";
import { list, part } from "page/lib/api.js";
import { groupOf } from "page/lib/operations.js";
import { params } from "page/lib/route.js";
import { Recent } from "page/lib/recent.js";
import { arrival, stats } from "page/lib/store.js";

export const ALL = 500;
/** Items that are read at first: one page of each list. */
export const FEW = 50;

const recent = new Recent();
effect(() => {
  void [arrival.value, stats.value]; // an erasure changes the past
  recent.clear();
});
const nameOf = (...names) => JSON.stringify([params.peek().store, ...names]);

/** Read what there is of a namespace as of a commit. */
export async function readMoment(agent, namespace, commit, { limit = ALL, ...options } = {}) {
  const [keys, memories, facts] = await Promise.all([
    list(`agents/${part(agent)}/state`, { namespace, prefix: "", at: commit }, { limit, ...options }),
    list("memories", { agent_id: agent, namespace, at: commit, content: true }, { limit, ...options }),
    list("facts", { agent_id: agent, namespace, known_at: commit, include_closed: true }, { limit, ...options }),
  ]);
  return { commit, keys, memories, facts };
}

/** Read the same, unless it was read a moment ago. */
export const recallMoment = (agent, namespace, commit, limit, signal) =>
  recent.get(nameOf("moment", agent, namespace, commit, limit), (stop) => readMoment(agent, namespace, commit, { limit, signal: stop }), signal);

/** Read what an event replaced: the values of its keys, and the facts that it closed, reopened or took away. */
export const recallChanges = (agent, event, signal) => recent.get(nameOf("changes", agent, event.commit_ts), (stop) => readChanges(agent, event, stop), signal);

/** Read ahead what is shown of an event that is probably looked at next. */
export function warm(agent, namespace, event) {
  recent.warm(nameOf("moment", agent, namespace, event.commit_ts, FEW), () => readMoment(agent, namespace, event.commit_ts, { limit: FEW }));
  recent.warm(nameOf("changes", agent, event.commit_ts), () => readChanges(agent, event));
}

const FACT_KINDS = ["assert", "end", "withdraw", "merge"];

async function readChanges(agent, { commit_ts: commit, committed_at: committedAt, operations }, signal) {
  const spacesOf = (isOne) => [...new Set(operations.filter(isOne).map(({ namespace }) => namespace))];
  const [changes, facts, memories] = await Promise.all([
    Promise.all(spacesOf(({ type }) => groupOf(type) === "state").map((namespace) => list(`agents/${part(agent)}/diff`, { namespace, old: commit - 1, new: commit }, { signal }))),
    Promise.all(spacesOf(({ type }) => FACT_KINDS.includes(type)).map((namespace) => factChanges(agent, namespace, commit, signal))),
    Promise.all(memoriesOf(operations).slice(0, MEMORIES).map((id) => memoryAround(agent, id, commit, committedAt, signal))),
  ]);
  return { commit, memories: new Map(memories), keys: new Map(changes.flatMap(({ items }) => items).map((change) => [change.key, change.before?.value])), facts: facts.flat() };
}

/** Memories of an event that are read to say what it did to them. */
const MEMORIES = 12;
const MEMORY_KINDS = ["update", "retract", "touch"];

/** Return the ids of the memories that an event linked or changed. */
const memoriesOf = (operations) => [...new Set(operations.flatMap(({ type, key, value }) => (type === "link" || type === "unlink" ? [value?.source, value?.target] : MEMORY_KINDS.includes(type) ? [key.replace("memory:", "")] : [])).filter(Boolean))];

/** Read a memory before an event, and after it; null where it was not there. */
async function memoryAround(agent, id, commit, committedAt, signal) {
  const versionsSince = (since) => list(`memories/${part(id)}/history`, { agent_id: agent, since }, { signal });
  const { items: first, more } = await versionsSince(null);
  const items = more && first.at(-1).updated_at < committedAt ? (await versionsSince(commit - 1)).items : first;
  return [id, { before: items.findLast((version) => version.updated_at < committedAt) ?? null, after: items.findLast((version) => version.updated_at <= committedAt) ?? null }];
}

async function factChanges(agent, namespace, commit, signal) {
  const factsAt = (known_at) => list("facts", { agent_id: agent, namespace, known_at, include_closed: true }, { signal });
  const [before, after] = await Promise.all([factsAt(commit - 1), factsAt(commit)]);
  return pair(before.items, after.items, factId, (one, other) => one.valid_to === other.valid_to).filter((item) => item.before && !item.isSame);
}

export const factId = (fact) => `${fact.subject}\n${fact.relation}\n${fact.object}\n${fact.valid_from}`;

/** Pair the items of two lists by an id; `isSame` tells those that changed. */
export function pair(before, after, idOf, isSame) {
  const old = new Map(before.map((item) => [idOf(item), item]));
  const pairs = after.map((item) => {
    const previous = old.get(idOf(item)) ?? null;
    old.delete(idOf(item));
    return { before: previous, after: item, isSame: previous !== null && isSame(previous, item) };
  });
  return [...pairs, ...[...old.values()].map((item) => ({ before: item, after: null, isSame: false }))];
}

export const pairMoments = (before, after) => ({
  keys: pair(before.keys.items, after.keys.items, (item) => item.key, (one, other) => one.version === other.version),
  memories: pair(before.memories.items, after.memories.items, (item) => item.id, (one, other) => one.version === other.version && one.superseded_by === other.superseded_by && one.retracted === other.retracted),
  facts: pair(before.facts.items, after.facts.items, factId, (one, other) => one.valid_to === other.valid_to),
});

/** Return the namespace of an event: that of the operation that says most of it. */
export const spaceOf = (operations) => operations.map((operation) => operation.namespace.replace(/\/_.*$/, "")).find(Boolean) ?? "default";
