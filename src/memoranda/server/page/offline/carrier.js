// Answers calls from what an exported file holds: events, and what was known when.
import { Problem } from "page/lib/problem.js";
import { toMs, toText } from "page/lib/time.js";

export const story = JSON.parse(document.getElementById("story").textContent);

const ABSENT = { title: "This file does not hold it", detail: "It has one agent's events of a range, and what they rest on. The store has the rest: memoranda ui." };
const absent = () => new Problem(410, ABSENT);

/** Return the commit of a moment of the file, which is a commit or a time. */
function commitOf(moment) {
  if (moment === null || moment === undefined) return story.last;
  const isTime = String(moment).includes("T");
  const commit = isTime ? story.events.findLast(({ committed_at: time }) => toMs(time) <= toMs(moment))?.commit_ts ?? 0 : Number(moment);
  return Math.max(story.first - 1, Math.min(story.last, commit));
}

/** Return the items of a list as of a commit: each has the commit it appears at, and the one it goes. */
const asOf = (list, commit) => (list ?? []).filter(([from, until]) => from <= commit && (until === null || commit < until)).map(([, , item]) => item);
const pageOf = (items) => ({ items, next_page_token: null });
const byText = (member) => (one, other) => (one[member] < other[member] ? -1 : one[member] > other[member] ? 1 : 0);

const lists = {
  state: ({ namespace, at }) => asOf(story.state[namespace], commitOf(at)).filter(({ value }) => value !== null).sort(byText("key")),
  memories: ({ namespace, at }) => asOf(story.memories[namespace], commitOf(at)).sort(byText("created_at")),
  facts: ({ namespace, known_at }) => asOf(story.facts[namespace], commitOf(known_at)).sort(byText("valid_from")).sort(byText("subject")),
  "stale-keys": ({ namespace, at }) => asOf(story.stale_keys[namespace], commitOf(at)).sort((one, other) => byText("key")(one.ref, other.ref)),
  invalidations: ({ status = "open", at }) => asOf(story.notices[status], commitOf(at)).sort(byText("created_at")),
  agents: () => [{ agent_id: story.agent, commits: story.events.length, last_commit: story.last }],
  namespaces: () => story.namespaces.map((namespace) => ({ namespace })),
};

function replay({ after_commit = 0, through_commit = Infinity, from_timestamp, to_timestamp, namespace, kinds, limit = 1000 }) {
  const [from, to] = [from_timestamp ? toMs(from_timestamp) : -Infinity, to_timestamp ? toMs(to_timestamp) : Infinity];
  const isChosen = (operation) => (!namespace || operation.namespace === namespace) && (!kinds || kinds.includes(operation.type));
  const items = [];
  for (const event of story.events) {
    const time = toMs(event.committed_at);
    if (event.commit_ts <= after_commit || event.commit_ts > through_commit || time < from || time >= to) continue;
    const operations = event.operations.filter(isChosen);
    if (!operations.length) continue;
    if (items.length === limit) return { items, next_page_token: "more" };
    items.push({ ...event, operations });
  }
  return pageOf(items);
}

function buckets({ from_timestamp, to_timestamp, namespace, buckets: number }) {
  const { items } = replay({ namespace, from_timestamp, to_timestamp, limit: Infinity });
  if (!items.length) return [];
  const start = from_timestamp ? toMs(from_timestamp) : toMs(items[0].committed_at);
  const end = to_timestamp ? toMs(to_timestamp) : toMs(items.at(-1).committed_at) + 0.001;
  const width = (end - start) / number;
  const parts = Array.from({ length: number }, (_, index) => ({ start: toText(start + index * width), end: toText(start + (index + 1) * width), counts: {}, events: 0 }));
  for (const event of items) {
    const part = parts[Math.min(number - 1, Math.floor((toMs(event.committed_at) - start) / width))];
    part.events += 1;
    for (const { type } of event.operations) part.counts[type] = (part.counts[type] ?? 0) + 1;
  }
  return parts;
}

function diff({ namespace, old, new: next }) {
  const [before, after] = [old, next].map((at) => new Map(lists.state({ namespace, at }).map((entry) => [entry.key, entry])));
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  return pageOf(keys.filter((key) => before.get(key)?.version !== after.get(key)?.version).map((key) => ({ key, before: before.get(key) ?? null, after: after.get(key) ?? null })));
}

const versionsOf = (list, key, id) => (list ?? []).map(([, , item]) => item).filter((item) => item[key] === id);

function versionOf(versions, version) {
  const item = version === null || version === undefined ? versions.at(-1) : versions.find((candidate) => candidate.version === Number(version));
  if (!item) throw absent();
  return item;
}

const memoryVersions = (id) => {
  const states = Object.values(story.memories).flatMap((list) => versionsOf(list, "id", id));
  return [...new Map([...(story.versions[id] ?? []), ...states].map((memory) => [memory.version, memory])).values()].sort((one, other) => one.version - other.version);
};

function why({ ref, at }) {
  const id = ref.memory_id ?? ref.assertion_id ?? `${ref.namespace}\n${ref.key}`;
  const tree = asOf(story.trees[id], commitOf(at))[0];
  if (!tree) throw absent();
  return { nodes: tree };
}

const stated = (operation) => (typeof operation.value?.valid_from === "number" ? toText(operation.value.valid_from / 1000) : null);

/** Return what the events of the file state of a fact; of older statements, there is the fact alone. */
function explanation(id, { known_at }) {
  const commit = commitOf(known_at);
  const fact = Object.values(story.facts).flatMap((list) => asOf(list, commit)).find(({ assertions }) => assertions.includes(id));
  if (!fact) throw absent();
  const operations = story.events.filter((event) => event.commit_ts <= commit).flatMap(({ operations: all, ...event }) => all.map((operation) => ({ ...event, ...operation })));
  const assertions = operations.filter(({ value }) => fact.assertions.includes(value?.assertion_id)).map((operation) => ({ ...operation, valid_from: stated(operation), confidence: operation.value.confidence }));
  return { fact, assertions, end: null };
}

const timelineOf = ({ namespace, subject, relation, known_at }) => asOf(story.facts[namespace], commitOf(known_at)).filter((fact) => fact.subject === subject && fact.relation === relation).sort(byText("valid_from"));

function transcript(id) {
  const talk = story.transcripts[id];
  if (!talk) throw absent();
  return talk;
}

/** Paths below the store, and what answers them. */
const ROUTES = [
  [/^stats$/, () => ({ commits: story.last, log_id: story.log_id })],
  [/^replay$/, (query) => replay(query)],
  [/^why$/, (query) => why(query)],
  [/^timeline$/, (query) => timelineOf(query)],
  [/^facts\/([^/]+)\/explanation$/, (query, id) => explanation(id, query)],
  [/^(agents|namespaces|memories|facts|invalidations)$/, (query, name) => pageOf(lists[name](query))],
  [/^agents\/[^/]+\/(state|stale-keys)$/, (query, name) => pageOf(lists[name](query))],
  [/^agents\/[^/]+\/timeline-buckets$/, (query) => buckets(query)],
  [/^agents\/[^/]+\/diff$/, (query) => diff(query)],
  [/^agents\/[^/]+\/keys\/([^/]+)\/history$/, ({ namespace }, key) => pageOf(versionsOf(story.state[namespace], "key", key))],
  [/^agents\/[^/]+\/keys\/([^/]+)$/, ({ namespace, version }, key) => versionOf(versionsOf(story.state[namespace], "key", key), version)],
  [/^memories\/([^/]+)\/history$/, (query, id) => pageOf(memoryVersions(id))],
  [/^memories\/([^/]+)$/, ({ version }, id) => versionOf(memoryVersions(id), version)],
  [/^transcripts\/([^/]+)$/, (query, id) => transcript(id).info],
  [/^transcripts\/([^/]+)\/content$/, (query, id) => new TextEncoder().encode(transcript(id).content)],
];

export async function send(method, path, { query = {}, body = {} } = {}) {
  if (path === "/session") return { verbs: ["read"], store: null };
  if (path === "/stores") return { items: [{ name: "-" }] };
  const [, , ...segments] = path.slice(1).split("/");
  const below = segments.join("/");
  for (const [pattern, answer] of ROUTES) {
    const match = pattern.exec(below);
    const members = Object.fromEntries(Object.entries({ ...query, ...body }).filter(([, value]) => value !== null && value !== undefined));
    if (match) return answer(members, decodeURIComponent(match[1] ?? ""));
  }
  throw absent();
}

/** Nothing arrives at a file. */
export const listen = () => () => {};
