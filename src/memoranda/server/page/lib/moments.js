// What an agent knew at a moment: keys, memories and facts of one namespace.
import { list, part } from "page/lib/api.js";

const LIMIT = 500;

/** Read everything of a namespace as of a commit. */
export async function readMoment(agent, namespace, commit, options = {}) {
  const [keys, memories, facts] = await Promise.all([
    list(`agents/${part(agent)}/state`, { namespace, prefix: "", at: commit }, { limit: LIMIT, ...options }),
    list("memories", { agent_id: agent, namespace, at: commit, content: true }, { limit: LIMIT, ...options }),
    list("facts", { agent_id: agent, namespace, known_at: commit, include_closed: true }, { limit: LIMIT, ...options }),
  ]);
  return { keys, memories, facts };
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
