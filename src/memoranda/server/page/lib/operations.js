// What operations are called, and what they say, in one line.
import { html, Mono, shorten, Words } from "page/lib/html.js";

export const GROUPS = [
  { name: "state", label: "State", kinds: ["write", "delete"] },
  { name: "memory", label: "Memories", kinds: ["remember", "update", "retract", "touch", "link", "unlink", "transcript", "cite"] },
  { name: "fact", label: "Facts", kinds: ["assert", "end", "withdraw", "alias", "merge", "cardinality"] },
  { name: "notice", label: "Notices", kinds: ["notify", "resolve", "erase", "erased", "configure", "summary", "refused", "trust", "retire", "epoch"] },
];
const GROUP_OF = new Map(GROUPS.flatMap((group) => group.kinds.map((kind) => [kind, group.name])));
export const groupOf = (kind) => GROUP_OF.get(kind) ?? "notice";

const VERBS = {
  write: "wrote", delete: "deleted", remember: "remembered", update: "updated", retract: "retracted", touch: "touched",
  link: "linked", unlink: "unlinked", transcript: "stored a conversation", cite: "quoted", assert: "learned", end: "ended",
  withdraw: "withdrew", alias: "named", merge: "merged", cardinality: "set a relation", notify: "noticed", resolve: "decided",
  erase: "erased something", erased: "erased content", configure: "configured",
};
export const verbOf = (kind) => VERBS[kind] ?? kind;
/** Say what an operation did, in one word if there is one. */
export const deedOf = ({ type, value }) => (type === "link" && value?.relation === "supersedes" ? "superseded" : verbOf(type));

const NOTICED = { key: "key", fact: "fact" };
/** What happened to the evidence that a notice is about. */
export const FATES = { superseded: "was superseded", overwritten: "was overwritten", closed: "has ended", retracted: "was retracted", deleted: "was deleted", forgotten: "was erased", withdrawn: "was withdrawn" };

/** Return what an operation is about, as text. */
export function subjectOf({ type, key, value }) {
  if (type === "remember" || type === "update") return value?.title ?? value?.content ?? "";
  if (value?.subject !== undefined && value?.relation !== undefined) return `${value.subject} ${value.relation} ${value.object ?? ""}`;
  if (type === "link" || type === "unlink") return value?.relation === "supersedes" ? "a memory" : `two memories: ${(value?.relation ?? "").replaceAll("_", " ")}`;
  if (type === "notify") return `that a ${NOTICED[value?.dependent_kind] ?? "belief"} rests on something that ${FATES[value?.change ?? "superseded"] ?? "changed"}`;
  if (type === "resolve") return `${value?.decision}${value?.note ? ": " + value.note : ""}`;
  if (type === "cardinality") return `${value?.relation}: ${value?.cardinality}`;
  if (type === "transcript" || type === "cite") return "";
  return key;
}

// What tells most of an event comes first in its line.
const WEIGHT = { assert: 0, end: 0, withdraw: 0, remember: 1, update: 1, resolve: 1, retract: 1, write: 2, delete: 2, transcript: 3, link: 4, notify: 5, cite: 6 };
const weigh = (operation) => WEIGHT[operation.type] ?? 3;

export const byWeight = (operations) => [...operations].sort((one, other) => weigh(one) - weigh(other));

/** The line of an event in a list. */
export function Summary({ event }) {
  const [first, ...rest] = byWeight(event.operations);
  if (!first) return html`<span class="quiet">nothing that you may see</span>`;
  const subject = shorten(subjectOf(first), 120);
  const isKey = groupOf(first.type) === "state";
  return html`<span class="summary"><span class="verb">${deedOf(first)}</span> ${isKey ? html`<${Mono} text=${subject} />` : html`<${Words} text=${subject} />`}${rest.length > 0 && html` <span class="chip">+${rest.length}</span>`}</span>`;
}

/** Say whether an event has a text in it, in its keys, values or names. */
export function matches(event, text) {
  const needle = text.toLowerCase();
  return event.txn_id.toLowerCase().includes(needle) || event.operations.some(({ key, value }) => key.toLowerCase().includes(needle) || JSON.stringify(value ?? "").toLowerCase().includes(needle));
}
