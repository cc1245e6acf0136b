// Timeline: the events, and everything as of the one that is looked at.
import { useEffect, useRef } from "preact/hooks";
import { html, plain, plural, seen, shorten, Words, Mono } from "page/lib/html.js";
import { Empty, Loaded, ProblemBox, useLoad } from "page/lib/load.js";
import { pairMoments, readMoment, recallChanges, spaceOf, warm } from "page/lib/moments.js";
import { byWeight, groupOf, GROUPS, subjectOf, verbOf } from "page/lib/operations.js";
import { Link, params, patch } from "page/lib/route.js";
import { agent, namespace, namespaces } from "page/lib/store.js";
import { Span, Time } from "page/lib/time.js";
import { currentEvent, currentIndex, kinds, listed, text } from "page/lib/timeline.js";
import { Chat, Quote } from "page/parts/chat.js";
import { Events } from "page/parts/events.js";
import { Fact, FactWords, Key, Memory, refParams } from "page/parts/items.js";
import { Known } from "page/parts/known.js";
import { Change } from "page/parts/value.js";

export function Timeline() {
  return html`<div class="view timeline">
    <h1 class="hidden">Timeline</h1>
    <section class="sheet list" aria-label="Events"><${Filters} /><${Events} /></section>
    <${Moment} />
  </div>`;
}

function Filters() {
  const active = kinds.value;
  const toggle = (group) => {
    const chosen = GROUPS.filter((other) => (active ? active.includes(other.kinds[0]) : false) !== (other === group));
    patch({ kinds: chosen.length === GROUPS.length || !chosen.length ? null : chosen.flatMap((other) => other.kinds).join(",") });
  };
  const search = (event) => { event.preventDefault(); patch({ q: new FormData(event.currentTarget.form ?? event.currentTarget).get("q") }); };
  return html`<div class="filters">
    <form onSubmit=${search} role="search"><input type="search" name="q" aria-label="Find a key or a text" placeholder="Find a key or a text" value=${text.value} onSearch=${search} /></form>
    <div class="bar" role="group" aria-label="Kinds">${GROUPS.map((group) => html`<button class="kind of-${group.name}" aria-pressed=${Boolean(active?.includes(group.kinds[0]))} onClick=${() => toggle(group)}>${group.label}</button>`)}</div>
  </div>`;
}

/** How long an event is looked at before the next one is read ahead, in milliseconds. */
const PAUSE = 40;

const chosenSpace = (event) => namespace.value ?? params.value.space ?? spaceOf(byWeight(event.operations));

/** Read ahead in the direction of the last step. */
function useNext(index) {
  const last = useRef(index);
  useEffect(() => {
    const next = listed.value.items[index + (index <= last.current ? -1 : 1)];
    last.current = index;
    if (!next || params.value.b) return undefined;
    const timer = setTimeout(() => warm(agent.value, chosenSpace(next), next), PAUSE);
    return () => clearTimeout(timer);
  }, [index, agent.value]);
}

function Moment() {
  const event = currentEvent.value;
  useNext(currentIndex.value);
  if (!event && listed.value.isLoading) return html`<p class="loading" aria-busy="true">Reading …</p>`;
  if (!event && !listed.value.items.length) return null;
  if (!event) return html`<section class="sheet moment"><${Empty} title="Choose an event">Its changes and everything the agent knew then appear here.<//></section>`;
  const space = chosenSpace(event);
  const pinned = params.value.b ? Number(params.value.b) : null;
  return html`<div class="moment">
    <${Changes} event=${event} />
    <section class="sheet known" aria-label="What the agent knew">
      <header><h2>${pinned === null ? html`Known at commit <span class="num">${event.commit_ts}</span>` : html`Commit <span class="num">${pinned}</span> beside ${pinned === event.commit_ts ? "another" : html`<span class="num">${event.commit_ts}</span>`}`}</h2>
        <div class="bar">
          ${!namespace.value && html`<select aria-label="Namespace" value=${space} onChange=${(change) => patch({ space: change.target.value })}>${namespaces.value.map((name) => html`<option value=${name}>${plain(name)}</option>`)}</select>`}
          ${pinned === null ? html`<button onClick=${() => patch({ b: event.commit_ts })} title="Keep this moment, and put another one beside it">Compare</button>` : html`<button onClick=${() => patch({ b: null })}>Stop comparing</button>`}
        </div></header>
      ${pinned === null ? html`<${Known} space=${space} commit=${event.commit_ts} />` : html`<${Beside} space=${space} before=${pinned} after=${event.commit_ts} />`}
    </section>
  </div>`;
}

// What one event changed.

/** Count notices that say the same: one overwritten key may be what many keys rest on. */
function gather(operations) {
  const notices = Map.groupBy(operations.filter(({ type }) => type === "notify"), subjectOf);
  return [...operations.filter(({ type }) => type !== "notify").map((operation) => ({ operation, count: 1 })), ...[...notices.values()].map((same) => ({ operation: same[0], count: same.length }))];
}

function Changes({ event }) {
  const old = useLoad((signal) => recallChanges(agent.value, event, signal), [event.commit_ts, agent.value]);
  const known = old.data?.commit === event.commit_ts ? old.data : null;
  return html`<section class="sheet changes" aria-label="What this event changed" aria-busy=${known || old.problem ? undefined : "true"}>
    <header><h2>What commit <span class="num">${event.commit_ts}</span> changed</h2><span class="quiet small"><${Time} at=${event.committed_at} /> by <${Mono} text=${event.actor} /></span></header>
    ${old.problem && html`<${ProblemBox} problem=${old.problem} />`}
    <ul class="rows">${gather(byWeight(event.operations)).map(({ operation, count }) => html`<li class="of-${groupOf(operation.type)}"><${Operation} operation=${operation} count=${count} before=${known?.keys.get(operation.key)} memories=${known?.memories} /></li>`)}
    ${(known?.facts ?? []).map(({ before, after }) => html`<li class="of-fact"><span class="kind">${fateOf(before, after)}</span> <${FactWords} fact=${after ?? before} /> <span class="small quiet">was <${Span} from=${before.valid_from} to=${before.valid_to} />${after && html`, now <${Span} from=${after.valid_from} to=${after.valid_to} />`}</span></li>`)}</ul>
  </section>`;
}

/** Say what an event did to a fact that was there. */
function fateOf(before, after) {
  if (after === null) return "no longer believed";
  if (after.valid_to === null) return "reopened";
  return before.valid_to === null ? "closed" : "changed";
}

const LINKS = { supersedes: "supersedes", contradicts: "contradicts", reflects_on: "reflects on", derived_from: "is derived from", related_to: "is related to" };

const MemoryLink = ({ id, memory }) => html`<${Link} to="why" with=${{ memory: id }} class="node-link">“<${Words} text=${shorten(memory?.content ?? "a memory", 160)} />”<//>`;

/** What an event did to memories that were there; null while they are not read, or cannot be. */
function MemoryChange({ operation: { type, key, value }, memories }) {
  if (type === "link" || type === "unlink") {
    const [source, target] = [value?.source, value?.target].map((id) => memories?.get(id));
    return html`<div><${MemoryLink} id=${value.source} memory=${source?.after ?? source?.before} /> <span class="quiet">${type === "unlink" ? "no longer " : ""}${LINKS[value.relation] ?? seen(value.relation)}</span> <${MemoryLink} id=${value.target} memory=${target?.after ?? target?.before} /></div>`;
  }
  const memory = memories?.get(key.replace("memory:", ""));
  return memory?.before ? html`<div>${type === "retract" ? html`<del class="words">${seen(memory.before.content ?? "erased")}</del>` : html`<${Words} text=${shorten(memory.before.content ?? "erased", 200)} />`}</div>` : null;
}

function Operation({ operation, count, before, memories }) {
  const { type, key, value } = operation;
  const head = html`<span class="kind">${verbOf(type)}</span>`;
  if (type === "write") return html`<div class="item-head">${head}<${Link} to="why" with=${{ key, space: operation.namespace }}><${Mono} text=${key} /><//><span class="quiet small">v${operation.version}</span>${operation.because?.length > 0 && html`<span class="quiet small">because of ${operation.because.map((ref, index) => html`${index > 0 && ", "}<${Link} to="why" with=${refParams(ref)}>${seen(ref.key ?? (ref.memory_id ? "a memory" : "a fact"))}<//>`)}</span>`}</div><${Change} before=${before} after=${value} />`;
  if (type === "delete") return html`<div class="item-head">${head}<${Mono} text=${key} /></div><${Change} before=${before} after=${null} />`;
  if (type === "remember" || type === "update") return html`<div class="item-head">${head}<span class="quiet small">${value?.kind}</span>${value?.title && html`<b>${seen(value.title)}</b>`}<${Link} to="why" with=${{ memory: key.replace("memory:", "") }} class="why-link">why<//></div>${replaced(operation, memories) !== null && html`<del class="words">${seen(replaced(operation, memories))}</del> `}<${Words} text=${value?.content ?? ""} />`;
  if (["link", "unlink", "retract", "touch"].includes(type)) return html`<div class="item-head">${head}</div><${MemoryChange} operation=${operation} memories=${memories} />`;
  if (type === "assert" || type === "end") return html`<div class="item-head">${head}<${FactWords} fact=${value} /><span class="small quiet">${type === "end" ? "ended " : "since "}${micros(value.at ?? value.valid_from)}</span></div>`;
  if (type === "transcript") return html`<div class="item-head">${head}</div><${Chat} id=${key.replace("transcript:", "")} isBare=${true} />`;
  if (type === "cite") return html`<div class="item-head">${head}<${Link} to="why" with=${{ memory: key.replace("citation:", "").split("|")[0] }} class="why-link">where<//></div><${Quote} id=${key.split("|")[1]} spans=${value?.spans ?? []} />`;
  if (type === "erased") return html`<div class="item-head">${head}<span class="quiet">Its content was erased; a certificate proves it.</span></div>`;
  return html`<div class="item-head">${head}<span class="small">${count > 1 && html`<span class="num">${count}</span> times `}${seen(shorten(subjectOf(operation), 200))}</span>${type === "notify" && html`<${Link} to="inbox" class="why-link">inbox<//>`}</div>`;
}

/** Return the text that an update replaced; null if it is the same, or not known. */
function replaced({ type, key, value }, memories) {
  const before = type === "update" ? memories?.get(key.replace("memory:", ""))?.before?.content : null;
  return before && before !== value?.content ? before : null;
}

const micros = (number) => (typeof number === "number" ? html`<${Time} at=${new Date(number / 1000).toISOString()} form="day" />` : number ? html`<${Time} at=${number} form="day" />` : "ever");

// Two moments.

/** Two moments side by side; what is the same is pale. */
function Beside({ space, before, after }) {
  const [first, last] = before <= after ? [before, after] : [after, before];
  const both = useLoad(async (signal) => pairMoments(await readMoment(agent.value, space, first, { signal }), await readMoment(agent.value, space, last, { signal })), [agent.value, space, first, last]);
  return html`<${Loaded} of=${both}>${({ keys, memories, facts }) => {
    const all = [...keys.map((item) => ({ ...item, of: (entry) => html`<${Key} entry=${entry} />` })), ...memories.map((item) => ({ ...item, of: (memory) => html`<${Memory} memory=${memory} />` })), ...facts.map((item) => ({ ...item, of: (fact) => html`<${Fact} fact=${fact} />` }))];
    const changed = all.filter((item) => !item.isSame);
    if (!changed.length) return html`<${Empty} title=${first === last ? "Now choose another moment" : "Nothing changed"}>${first === last ? html`This one, commit ${first}, is kept. Drag the strip, press ← or →, or choose an event.` : html`Between these commits, nothing changed in <span class="mono">${seen(space)}</span>.`}<//>`;
    return html`<div class="beside"><div class="beside-head"><span>Commit <span class="num">${first}</span></span><span>Commit <span class="num">${last}</span></span></div>
      ${changed.map(({ before: old, after: now, of }) => html`<div class="beside-row"><div>${old ? of(old) : html`<span class="absent quiet small">not known yet</span>`}</div><div>${now ? of(now) : html`<span class="absent quiet small">gone</span>`}</div></div>`)}
      <p class="quiet small pad">${plural(all.length - changed.length, "item")} did not change.</p></div>`;
  }}<//>`;
}
