// Why: from a key, a memory or a fact down to the words it rests on.
import { useSignal } from "@preact/signals";
import { ask } from "page/lib/api.js";
import { story } from "page/lib/carrier.js";
import { html, Mono, plain, plural, seen, Words } from "page/lib/html.js";
import { Empty, Loaded, ProblemBox, useLoad } from "page/lib/load.js";
import { Link, params, patch } from "page/lib/route.js";
import { agent, canForget, moment, namespace, namespaces } from "page/lib/store.js";
import { Span, Time } from "page/lib/time.js";
import { Known } from "page/parts/known.js";
import { Chat } from "page/parts/chat.js";
import { History } from "page/parts/history.js";
import { refParams } from "page/parts/items.js";
import { SaveEvidence } from "page/parts/save_evidence.js";

function chosen() {
  const { key, space, memory, fact } = params.value;
  if (key) return { key, namespace: space ?? namespace.value ?? "default", agent_id: agent.value };
  if (memory) return { memory_id: memory };
  return fact ? { assertion_id: fact } : null;
}

export function Why() {
  const ref = chosen();
  return ref ? html`<${Explained} ref_=${ref} />` : html`<${Choose} />`;
}

function Choose() {
  const space = namespace.value ?? params.value.space ?? namespaces.value.at(-1) ?? "default";
  return html`<div class="view"><header><h1>Why</h1><p>Choose a key, a memory or a fact, and see what it rests on, down to the words in a conversation.</p></header>
    <section class="sheet"><header><h2>Known at commit <span class="num">${moment.value}</span></h2>
      <select class="narrow" aria-label="Namespace" value=${space} onChange=${(event) => patch({ space: event.target.value })}>${namespaces.value.map((name) => html`<option value=${name}>${plain(name)}</option>`)}</select></header>
      <${Known} space=${space} commit=${moment.value} /></section></div>`;
}

const GROUP = { key: "state", memory: "memory", fact: "fact", transcript: "notice" };
const RELATION = { because: "because", reflects_on: "reflects on", derived_from: "derived from", source: "source", quotes: "quotes" };

function Explained({ ref_ }) {
  const tree = useLoad((signal) => ask("why", { ref: ref_, at: params.value.at ? moment.value : null, agent_id: agent.value }, { signal }), [JSON.stringify(ref_), moment.value]);
  const open = useSignal(null);
  if (tree.problem) {
    return html`<div class="view"><header><h1>Why</h1></header>${tree.problem.status === 404 ? html`<${Unknown} ref_=${ref_} />` : html`<${ProblemBox} problem=${tree.problem} />`}</div>`;
  }
  return html`<${Loaded} of=${tree}>${({ nodes }) => {
    const [root] = nodes;
    const quotes = nodes.filter((node) => node.kind === "transcript" && !node.hidden && node.ref);
    const picked = quotes.find((node) => node.number === open.value) ?? quotes[0] ?? null;
    return html`<div class="view why">
      <header><h1><${Title} node=${root} /></h1>${root.is_stale ? html`<span class="chip stale">no longer rests on what is believed</span>` : html`<span class="chip good">rests on what is believed</span>`}<${Deeds} ref_=${ref_} nodes=${nodes} /></header>
      <div class="why-grid">
        <div class="why-side">
          <section class="sheet"><header><h2>What it rests on</h2><span class="quiet small">${plural(nodes.length - 1, "source")}</span></header>
            <ul class="tree"><${Branch} nodes=${nodes} node=${root} picked=${picked?.number} onPick=${(number) => { open.value = number; }} /></ul></section>
          <${History} ref_=${ref_} />
        </div>
        ${picked ? html`<${Chat} key=${picked.number} id=${picked.ref.transcript_id} spans=${picked.ref.spans ?? []} excerpts=${picked.summary.split(" … ")} />` : html`<p class="quiet">It quotes no conversation.</p>`}
      </div></div>`;
  }}<//>`;
}

/** What one can do with it: hand on the evidence, or erase it. */
function Deeds({ ref_, nodes }) {
  if (story) return null;
  const collect = async (onProgress) => (await import("page/lib/evidence.js")).evidenceOf(ref_.key ?? ref_.memory_id ?? ref_.assertion_id, nodes, onProgress);
  const target = ref_.key !== undefined ? { erase: "key", what: ref_.key, space: ref_.namespace } : ref_.memory_id ? { erase: "memory_id", what: ref_.memory_id } : null;
  return html`<${SaveEvidence} class="deeds" collect=${collect} title="What it rests on, the quoted conversations, and proofs, in one file">${canForget.value && target && html`<${Link} to="trust" with=${{ at: null, ...target }} class="button">Erase …<//>`}<//>`;
}

/** What was not there at the moment, or is not there at all. */
const Unknown = ({ ref_ }) => html`<section class="sheet"><${Empty} title=${params.value.at ? `Not known at commit ${moment.value}` : "Nothing like this is known"}>
  ${ref_.key === undefined ? "It" : html`<${Mono} text=${ref_.key} />`} ${params.value.at ? html`had not been stored by then, or was gone. <button onClick=${() => patch({ at: null })}>Look at it now</button>` : html`was never stored here, was erased, or is not for you to see. <${Link} to="why">Choose something else<//>`}<//></section>`;

const Title = ({ node }) => (node.kind === "key" ? html`<${Mono} text=${node.ref.key} />` : html`<${Words} text=${node.summary} />`);

function Branch({ nodes, node, picked, onPick }) {
  const children = nodes.filter((other) => other.parent === node.number);
  return html`<li><${Node} node=${node} isPicked=${picked === node.number} onPick=${onPick} />
    ${children.length > 0 && html`<ul>${children.map((child) => html`<${Branch} key=${child.number} nodes=${nodes} node=${child} picked=${picked} onPick=${onPick} />`)}</ul>`}</li>`;
}

function Node({ node, isPicked, onPick }) {
  const { kind, ref, summary, stale, hidden, repeated, relation } = node;
  const words = kind === "key" && ref ? html`<${Mono} text=${`${ref.key}`} /> <span class="value">${seen(summary)}</span>` : html`<${Words} text=${kind === "transcript" ? `“${summary}”` : summary} />`;
  return html`<div class="node of-${GROUP[kind] ?? "notice"} ${stale.length ? "is-stale" : ""} ${isPicked ? "picked" : ""}">
    <div class="item-head"><span class="kind">${relation ? RELATION[relation] ?? relation.replaceAll("_", " ") : kind}</span>${node.committed_at && html`<span class="quiet small"><${Time} at=${node.committed_at} /></span>`}${kind === "fact" && (node.valid_from || node.valid_to) && html`<span class="quiet small"><${Span} from=${node.valid_from} to=${node.valid_to} /></span>`}</div>
    ${hidden ? html`<span class="quiet">not visible to you</span>` : kind === "transcript" ? html`<button class="quote" onClick=${() => onPick(node.number)} aria-pressed=${isPicked}>${words}</button>` : node.parent === null || !ref ? words : html`<${Link} to="why" with=${refParams(ref)} class="node-link">${words}<//>`}
    ${stale.map((reason) => html`<span class="chip stale">${seen(reason)}</span>`)}${node.is_stale && !stale.length && html`<span class="chip stale">rests on something stale</span>`}${repeated && html`<span class="chip">shown above</span>`}${node.unproven && html`<span class="chip bad">unproven</span>`}</div>`;
}
