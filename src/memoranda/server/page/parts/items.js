// A key, a memory and a fact, as they stand in lists; each leads to why it is believed.
import { html, Mono, plain, seen, Words } from "page/lib/html.js";
import { Link } from "page/lib/route.js";
import { Span } from "page/lib/time.js";
import { Value } from "page/parts/value.js";

export const refParams = (ref) =>
  ref.key !== undefined ? { key: ref.key, space: ref.namespace } : ref.memory_id ? { memory: ref.memory_id } : ref.assertion_id ? { fact: ref.assertion_id } : { transcript: ref.transcript_id };

/** `store`: where the thing is, if not in the store that is open. */
const Why = ({ of, label, store }) => html`<${Link} to="why" with=${store ? { store, at: null, ...of } : of} class="why-link" aria-label=${plain(`Why ${label}`)}>why<//>`;

export const Key = ({ entry, store }) => html`<div class="item of-state">
  <div class="item-head"><span class="kind"><${Mono} text=${entry.key} /></span><span class="quiet small">v${entry.version}</span><${Why} of=${{ key: entry.key, space: entry.namespace }} label=${entry.key} store=${store} /></div>
  <${Value} value=${entry.value} /></div>`;

export const Memory = ({ memory, store }) => html`<div class="item of-memory ${memory.superseded_by || memory.retracted ? "past" : ""}">
  <div class="item-head"><span class="kind">${memory.kind}</span>${memory.title && html`<b>${seen(memory.title)}</b>`}${memory.superseded_by && html`<span class="chip stale">superseded</span>`}${memory.retracted && html`<span class="chip stale">retracted</span>`}${memory.visibility === "private" && html`<span class="chip">private</span>`}<${Why} of=${{ memory: memory.id }} label=${memory.content ?? memory.id} store=${store} /></div>
  ${memory.content === null ? html`<span class="quiet">erased</span>` : html`<${Words} text=${memory.content} />`}</div>`;

export const FactWords = ({ fact }) => html`<span class="words" dir="auto"><b>${seen(fact.subject)}</b> ${seen(fact.relation)} <b>${seen(typeof fact.object === "string" ? fact.object : JSON.stringify(fact.object))}</b></span>`;

export const Fact = ({ fact, store }) => html`<div class="item of-fact ${fact.valid_to ? "past" : ""}">
  <div class="item-head"><span class="kind">fact</span><${Span} from=${fact.valid_from} to=${fact.valid_to} /><${Why} of=${{ fact: fact.assertions[0] }} label=${`${fact.subject} ${fact.relation} ${fact.object}`} store=${store} /></div>
  <${FactWords} fact=${fact} /></div>`;
