// Recall: what a question finds, by what, and how each score came about.
import { useSignal } from "@preact/signals";
import { ask } from "page/lib/api.js";
import { html, plural, seen, shorten, Words } from "page/lib/html.js";
import { Empty, Loaded, useLoad } from "page/lib/load.js";
import { Link, params, patch } from "page/lib/route.js";
import { agent, moment, namespace, namespaces } from "page/lib/store.js";
import { dayOf, Time, toMs } from "page/lib/time.js";
import { Chat } from "page/parts/chat.js";

// Parts that find something are added up; all others are factors.
const FINDERS = [["text", "words"], ["vector", "meaning"], ["graph", "graph"], ["conversation", "conversation"]];
const HUES = { text: "state", vector: "memory", graph: "fact", conversation: "notice" };
const COUNT = 12;

export function Recall() {
  const { query, valid } = params.value;
  const space = params.value.space ?? namespace.value ?? namespaces.value.at(-1) ?? "default";
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    patch({ query: form.get("query"), space: form.get("space"), valid: form.get("day") ? `${form.get("day")}T00:00:00Z` : null });
  };
  return html`<div class="view"><header><h1>Recall</h1><p>Ask as the agent asks. You see what answers, what found it, and what was left out.</p></header>
    <form class="bar end ask" onSubmit=${submit} role="search">
      <label class="grow">Question<input name="query" type="search" value=${query ?? ""} required placeholder="Where does Ann live?" /></label>
      <label>Namespace<select name="space" value=${space}>${namespaces.value.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>
      <label>True on<input name="day" type="date" value=${valid ? dayOf(toMs(valid)) : ""} /></label>
      <button class="primary">Recall</button></form>
    ${query ? html`<${Answers} query=${query} space=${space} valid=${valid ?? null} />` : html`<section class="sheet"><${Empty} title="Ask a question">The answer is as of commit ${moment.value}: move the strip to ask the past.<//></section>`}</div>`;
}

function Answers({ query, space, valid }) {
  const known = params.value.at ? moment.value : null;
  const answer = useLoad(async (signal) => {
    const body = { query, namespace: space, agent_id: agent.value, k: COUNT, valid_at: valid, known_at: known };
    const [hits, wider] = await Promise.all([ask("recall", body, { signal }), ask("recall", { ...body, k: 2 * COUNT, include_superseded: true, include_expired: true }, { signal })]);
    const ids = new Set(hits.flatMap((hit) => [hit.id, ...hit.duplicates.map((other) => other.id ?? other)]));
    return { hits, dropped: wider.filter((hit) => !ids.has(hit.id) && reasonOf(hit)) };
  }, [query, space, valid, known, agent.value]);
  return html`<${Loaded} of=${answer}>${({ hits, dropped }) => {
    if (!hits.length) return html`<section class="sheet"><${Empty} title="Nothing answers">Neither words nor meaning nor the graph find anything in <span class="mono">${seen(space)}</span>. Try another namespace, or a later moment.<//></section>`;
    const best = Math.max(...hits.map(({ score }) => score));
    return html`<${Cascade} hits=${hits} dropped=${dropped} />
      <ol class="hits">${hits.map((hit, index) => html`<${Hit} key=${hit.id} hit=${hit} number=${index + 1} best=${best} />`)}</ol>
      ${dropped.length > 0 && html`<section class="sheet"><header><h2>Left out</h2><span class="quiet small">found, and not believed any more</span></header><ul class="rows">${dropped.map((hit) => html`<li class="of-${hit.kind === "fact" ? "fact" : "memory"}"><span class="kind">${hit.kind}</span> <${Words} text=${shorten(hit.text, 200)} /> <span class="chip stale">${reasonOf(hit)}</span></li>`)}</ul></section>`}`;
  }}<//>`;
}

/** Say why a hit that is found only on request is left out otherwise. */
function reasonOf(hit) {
  if (hit.memory?.superseded_by || hit.parts.superseded < 1) return "superseded";
  if (hit.memory?.retracted) return "retracted";
  if (hit.memory?.expires_at && toMs(hit.memory.expires_at) < Date.now()) return "expired";
  return hit.fact?.valid_to ? "has ended" : null;
}

function Cascade({ hits, dropped }) {
  return html`<div class="cascade" aria-label="What found the answers">${FINDERS.map(([part, label]) => {
    const count = hits.filter((hit) => hit.parts[part] > 0).length;
    return html`<span class="kind of-${HUES[part]} ${count ? "" : "quiet"}">${label} found ${count}</span>`;
  })}<span class="quiet small">of ${plural(hits.length, "answer")}${dropped.length ? `; ${dropped.length} left out` : ""}</span></div>`;
}

function Hit({ hit, number, best }) {
  const isOpen = useSignal(false);
  const sum = FINDERS.reduce((total, [part]) => total + hit.parts[part], 0) || 1;
  const factors = Object.entries(hit.parts).filter(([part, value]) => !(part in HUES) && Math.abs(value - 1) > 0.0005);
  const quote = hit.provenance.find((ref) => ref.transcript_id);
  return html`<li class="sheet hit of-${hit.kind === "fact" ? "fact" : hit.kind === "memory" ? "memory" : "notice"}">
    <div class="hit-main"><div class="item-head"><span class="num quiet">${number}</span><span class="kind">${hit.memory?.kind ?? hit.kind}</span>${hit.time && html`<span class="quiet small"><${Time} at=${hit.time} form="day" /></span>`}${hit.speaker && html`<span class="quiet small">${seen(hit.speaker)}</span>`}${hit.conflicting.length > 0 && html`<span class="chip stale">others say otherwise</span>`}</div>
      <${Words} text=${shorten(hit.text, 600)} tag="p" />
      ${(hit.fact || hit.memory) && html`<${Link} to="why" with=${hit.fact ? { fact: hit.fact.assertions[0] } : { memory: hit.memory.id }} class="small">why<//>`}${quote && html`<details class="small" onToggle=${(event) => { isOpen.value = event.currentTarget.open; }}><summary>The words it rests on</summary>${isOpen.value && html`<${Chat} id=${quote.transcript_id} spans=${quote.spans ?? []} excerpts=${[]} />`}</details>`}</div>
    <div class="score"><div class="score-bar" style=${{ width: `${Math.max(2, (100 * hit.score) / best)}%` }}>${FINDERS.filter(([part]) => hit.parts[part] > 0).map(([part]) => html`<span class="of-${HUES[part]}" style=${{ flexGrow: hit.parts[part] / sum }}></span>`)}</div>
      <p class="num small">(${FINDERS.filter(([part]) => hit.parts[part] > 0).map(([part, label], index) => html`${index > 0 && " + "}${label} ${hit.parts[part].toFixed(2)}`)})${factors.map(([part, value]) => html` × ${part} ${value.toFixed(2)}`)} = <b>${hit.score.toFixed(2)}</b></p></div></li>`;
}
