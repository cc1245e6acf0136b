// Recall: what a question finds, by what, and how each score came about.
import { useSignal } from "@preact/signals";
import { ask } from "page/lib/api.js";
import { html, plain, plural, seen, shorten, Words } from "page/lib/html.js";
import { Empty, Loaded, useLoad } from "page/lib/load.js";
import { Link, params, patch } from "page/lib/route.js";
import { agent, moment, namespace, namespaces, stats } from "page/lib/store.js";
import { dayOf, Time, toMs } from "page/lib/time.js";
import { Chat } from "page/parts/chat.js";

// Parts that find something are added up; all others are factors.
const FINDERS = [["text", "words"], ["vector", "meaning"], ["graph", "graph"], ["conversation", "conversation"]];
const HUES = { text: "state", vector: "memory", graph: "fact", conversation: "notice" };
const SEARCHES = FINDERS.slice(0, 3);
const HUE_OF = { memory: "memory", fact: "fact", passage: "notice" };
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
      <label>Namespace<select name="space" value=${space}>${namespaces.value.map((name) => html`<option value=${name}>${plain(name)}</option>`)}</select></label>
      <label>True on<input name="day" type="date" value=${valid ? dayOf(toMs(valid)) : ""} /></label>
      <button class="primary">Recall</button></form>
    ${query ? html`<${Answers} query=${query} space=${space} valid=${valid ?? null} />` : html`<section class="sheet"><${Empty} title="Ask a question">The answer is as of commit ${moment.value}: move the strip to ask the past.<//></section>`}</div>`;
}

function Answers({ query, space, valid }) {
  const known = params.value.at ? moment.value : null;
  const answer = useLoad((signal) => ask("explain-recall", { query, namespace: space, agent_id: agent.value, k: COUNT, valid_at: valid, known_at: known }, { signal }), [query, space, valid, known, agent.value]);
  return html`<${Loaded} of=${answer}>${(explanation) => {
    const { hits, dropped } = explanation;
    const best = Math.max(...hits.map(({ score }) => score));
    return html`<${Cascade} of=${explanation} />
      ${hits.length ? html`<ol class="hits">${hits.map((hit, index) => html`<${Hit} key=${hit.id} hit=${hit} number=${index + 1} best=${best} />`)}</ol>` : html`<section class="sheet"><${Empty} title="Nothing answers">${dropped.length ? "All that was found was left out: see below." : html`Neither words nor meaning nor the graph find anything in <span class="mono">${seen(space)}</span>. Try another namespace, or a later moment.`}<//></section>`}
      ${dropped.length > 0 && html`<${LeftOut} dropped=${dropped} hits=${hits} />`}`;
  }}<//>`;
}

const REASONS = { superseded: "superseded", retracted: "retracted", expired: "expired", ended: "no longer held", later: "had not happened yet", withdrawn: "nothing drawn from it stands", agent: "of another agent", kind: "of another kind", tags: "without the tags", time: "of another time", speaker: "somebody else said it", duplicate: "says the same", score: "scored too low" };

/** What filters dropped, and why. */
function LeftOut({ dropped, hits }) {
  const rank = (id) => hits.findIndex((hit) => hit.id === id) + 1;
  return html`<section class="sheet" aria-label="Left out"><header><h2>Left out</h2><span class="quiet small">found, and not among the answers</span></header><ul class="rows">${dropped.map(({ kind, text, reason, by }) => html`<li class="of-${HUE_OF[kind] ?? "notice"} left-out"><span class="kind">${kind}</span><${Words} text=${shorten(text, 200)} /><span class="chip stale">${REASONS[reason] ?? seen(reason)}${by && rank(by) ? ` as answer ${rank(by)}` : ""}</span>${by && reason === "superseded" && html`<${Link} to="why" with=${{ memory: by }} class="small">by what<//>`}</li>`)}</ul></section>`;
}

/** The way from what the searches found to the answers. */
function Cascade({ of: { found_by: counts, candidates, accepted, hits } }) {
  const hasVectors = counts.vector > 0 || Boolean(stats.value.embedder); // a store names its embedder once it has stored a vector
  return html`<ol class="cascade" aria-label="What found the answers">
    ${SEARCHES.map(([part, label]) => html`<li class="kind of-${HUES[part]} ${counts[part] ? "" : "quiet"}" title=${part === "vector" && !hasVectors ? "This store has no embedder, so meaning is not searched" : undefined}>${part === "vector" && !hasVectors ? "meaning is not searched" : `${label} found ${counts[part]}`}</li>`)}
    <li>${plural(candidates, "candidate")}</li><li>${accepted} passed the filters</li><li><b>${plural(hits.length, "answer")}</b></li></ol>`;
}

function Hit({ hit, number, best }) {
  const isOpen = useSignal(false);
  const sum = FINDERS.reduce((total, [part]) => total + hit.parts[part], 0) || 1;
  const factors = Object.entries(hit.parts).filter(([part, value]) => !(part in HUES) && Math.abs(value - 1) > 0.0005);
  const quote = hit.provenance.find((ref) => ref.transcript_id);
  return html`<li class="sheet hit of-${HUE_OF[hit.kind] ?? "notice"}">
    <div class="hit-main"><div class="item-head"><span class="num quiet">${number}</span><span class="kind">${hit.memory?.kind ?? hit.kind}</span>${hit.time && html`<span class="quiet small"><${Time} at=${hit.time} form="day" /></span>`}${hit.speaker && html`<span class="quiet small">${seen(hit.speaker)}</span>`}${hit.conflicting.length > 0 && html`<span class="chip stale">others say otherwise</span>`}</div>
      <${Words} text=${shorten(hit.text, 600)} tag="p" />
      <div class="hit-more">${(hit.fact || hit.memory) && html`<${Link} to="why" with=${hit.fact ? { fact: hit.fact.assertions[0] } : { memory: hit.memory.id }} class="small">why<//>`}${quote && html`<details class="small" onToggle=${(event) => { isOpen.value = event.currentTarget.open; }}><summary>The words it rests on</summary>${isOpen.value && html`<${Chat} id=${quote.transcript_id} spans=${quote.spans ?? []} excerpts=${[]} />`}</details>`}</div></div>
    <div class="score"><div class="score-bar" style=${{ width: `${Math.max(2, (100 * hit.score) / best)}%` }}>${FINDERS.filter(([part]) => hit.parts[part] > 0).map(([part]) => html`<span class="of-${HUES[part]}" style=${{ flexGrow: hit.parts[part] / sum }}></span>`)}</div>
      <p class="num small">(${FINDERS.filter(([part]) => hit.parts[part] > 0).map(([part, label], index) => html`${index > 0 && " + "}${label} ${hit.parts[part].toFixed(2)}`)})${factors.map(([part, value]) => html` × ${part} ${value.toFixed(2)}`)} = <b>${hit.score.toFixed(2)}</b></p></div></li>`;
}
