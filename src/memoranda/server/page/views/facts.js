// Facts: what was believed of the world, on two axes: when it holds, and when that was known.
import { list } from "page/lib/api.js";
import { html, plain, plural, seen } from "page/lib/html.js";
import { Empty, Loaded, useLoad } from "page/lib/load.js";
import { Link, params, patch } from "page/lib/route.js";
import { agent, head, moment, namespace, namespaces } from "page/lib/store.js";
import { dayOf, format, toMs } from "page/lib/time.js";
import { factId } from "page/lib/moments.js";
import { lookAt, lookAtPresent } from "page/lib/timeline.js";
import { Graph } from "page/parts/graph.js";
import { Tabs } from "page/parts/tabs.js";

const DAY = 86_400_000;
/** Facts of a namespace that are read at once. */
const LIMIT = 500;

/** Read the facts of namespaces as they were known; where there are more, those that are about a name too. */
async function readFacts(spaces, name, commit, signal) {
  const query = { agent_id: agent.value, known_at: commit, include_closed: true };
  const pages = await Promise.all(spaces.map(async (namespace) => {
    const first = await list("facts", { ...query, namespace }, { signal, limit: LIMIT });
    if (!first.more || !name) return first;
    const about = await Promise.all(["subject", "object"].map((place) => list("facts", { ...query, namespace, [place]: name }, { signal, limit: LIMIT })));
    return { items: [...first.items, ...about.flatMap(({ items }) => items)], more: true };
  }));
  const items = pages.flatMap((page) => page.items);
  const once = new Map(items.map((fact) => [`${fact.namespace}\n${factId(fact)}`, fact]));
  return { items: [...once.values()].filter((fact) => !name || mentions(fact, name)), more: pages.some(({ more }) => more) };
}

const mentions = ({ subject, relation, object }, name) => [subject, relation, String(object)].some((text) => text.toLowerCase().includes(name.toLowerCase()));

export function Facts() {
  const spaces = namespace.value ? [namespace.value] : namespaces.value;
  const commit = moment.value;
  const name = params.value.about ?? null;
  const facts = useLoad((signal) => readFacts(spaces, name, params.value.at ? commit : null, signal), [agent.value, spaces.join("\n"), commit, name]);
  const known = useLoad((signal) => readFacts(spaces, null, null, signal), [agent.value, spaces.join("\n"), head.value]);
  return html`<div class="view"><header><h1>Facts</h1><p>Move either time: when a fact holds in the world, and when the agent knew of it.</p></header>
    <${Loaded} of=${known}>${({ items }) => (items.length
      ? html`<${Drawn} facts=${facts} range=${rangeOf([...items, ...(facts.data?.items ?? [])])} name=${name} />`
      : html`<section class="sheet"><${Empty} title="No facts yet">Facts that the agent asserts appear here, with the time they hold. <code>memoranda fact assert</code> does it from a terminal.<//></section>`)}<//></div>`;
}

function Drawn({ facts, range, name }) {
  const shape = params.value.shape ?? "bars";
  const search = (event) => { event.preventDefault(); patch({ about: new FormData(event.currentTarget.form ?? event.currentTarget).get("about").trim() }); };
  return html`<${Sliders} range=${range} />
    <${Tabs} label="How facts are drawn" items=${[["bars", "Timelines"], ["graph", "Graph"]]} chosen=${shape} onChoose=${(chosen) => patch({ shape: chosen === "bars" ? null : chosen })}>
      <form class="about" onSubmit=${search} role="search"><input type="search" name="about" aria-label="Find a name in facts" placeholder="Find a name" value=${name ?? ""} onSearch=${search} /></form>
      <${Loaded} of=${facts}>${({ items, more }) => html`
        ${more && html`<p class="quiet small">There are more facts than are drawn: these are the first ${LIMIT} of a namespace${name ? html`, and all about <span class="words">${seen(name)}</span>` : ". Find a name to see all about it"}.</p>`}
        ${shape === "graph" && items.length ? html`<${Graph} facts=${items} isValid=${holdsAt(validOf(range))} />` : html`<${Bars} facts=${items} range=${range} name=${name} />`}`}<//><//>`;
}

/** Return the range of the times that facts name, a little wider. */
function rangeOf(facts) {
  const times = facts.flatMap(({ valid_from, valid_to, known_from }) => [valid_from, valid_to, known_from]).filter(Boolean).map(toMs);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const margin = Math.max(DAY, (last - first) * 0.04);
  return [first - margin, last + margin];
}

const validOf = (range) => (params.value.valid ? toMs(params.value.valid) : range[1]);
const holdsAt = (ms) => (fact) => (!fact.valid_from || toMs(fact.valid_from) <= ms) && (!fact.valid_to || ms < toMs(fact.valid_to));

function Sliders({ range }) {
  const valid = validOf(range);
  const setValid = (event) => patch({ valid: Number(event.target.value) > range[1] - DAY ? null : `${dayOf(Number(event.target.value))}T00:00:00Z` });
  const setKnown = (event) => (Number(event.target.value) >= head.value ? lookAtPresent() : lookAt(Number(event.target.value)));
  return html`<section class="sheet sliders" aria-label="Two times">
    <label>Holds on <output class="num">${params.value.valid ? format(valid, "day") : "any day"}</output>
      <input type="range" aria-label="Valid time" min=${range[0]} max=${range[1]} step=${DAY} value=${valid} aria-valuetext=${format(valid, "day")} onInput=${setValid} /></label>
    <label>Known by <output class="num">${params.value.at ? `commit ${moment.value}` : "now"}</output>
      <input type="range" aria-label="Known time" min="1" max=${head.value} value=${moment.value} aria-valuetext=${`commit ${moment.value}`} onInput=${setKnown} /></label>
    <button disabled=${!params.value.valid && !params.value.at} onClick=${() => { patch({ valid: null }); lookAtPresent(); }}>Now, any day</button>
  </section>`;
}

function Bars({ facts, range, name }) {
  if (!facts.length && name) return html`<section class="sheet"><${Empty} title="No fact is about that"><button onClick=${() => patch({ about: null })}>Show all facts</button><//></section>`;
  if (!facts.length) return html`<section class="sheet"><${Empty} title="Nothing was known yet">By commit ${moment.value}, no fact had been asserted. Move the known time on.<//></section>`;
  const groups = Map.groupBy(facts, (fact) => `${fact.subject}\n${fact.relation}\n${fact.namespace}`);
  const valid = params.value.valid ? validOf(range) : null;
  const place = (ms) => `${(100 * (ms - range[0])) / (range[1] - range[0])}%`;
  return html`<section class="sheet bars">
    <div class="bar-axis" aria-hidden="true">${ticks(range).map((ms) => html`<span style=${{ left: place(ms) }}>${new Date(ms).getUTCFullYear()}</span>`)}</div>
    ${[...groups.values()].map((group) => html`<div class="bar-row">
      <div class="bar-name"><b class="words">${seen(group[0].subject)}</b> <span class="words">${seen(group[0].relation)}</span>${!namespace.value && html`<span class="quiet small"> ${seen(group[0].namespace)}</span>`}</div>
      <div class="bar-lane">${valid !== null && html`<span class="bar-now" style=${{ left: place(valid) }}></span>`}
        ${group.map((fact) => html`<${Bar} fact=${fact} range=${range} place=${place} isFaded=${valid !== null ? !holdsAt(valid)(fact) : Boolean(fact.valid_to)} />`)}</div></div>`)}
    <p class="pad quiet small">${plural(facts.length, "fact")}. A pale bar has ended${valid !== null ? ", or does not hold on that day" : ""}.</p></section>`;
}

function Bar({ fact, range, place, isFaded }) {
  const from = fact.valid_from ? Math.max(range[0], toMs(fact.valid_from)) : range[0];
  const to = fact.valid_to ? toMs(fact.valid_to) : range[1];
  const width = `${(100 * (to - from)) / (range[1] - range[0])}%`;
  const days = `${fact.valid_from ? format(from, "day") : "ever"} – ${fact.valid_to ? format(to, "day") : "still"}`;
  return html`<${Link} to="why" with=${{ fact: fact.assertions[0] }} class="fact-bar ${isFaded ? "faded" : ""}" style=${{ left: place(from), width }} title=${plain(`${fact.subject} ${fact.relation} ${fact.object}, ${days}; known from ${fact.known_from}`)}><span class="words">${seen(fact.object)}</span><span class="days num">${days}</span><//>`;
}

/** Return the beginnings of a few years in a range. */
function ticks([from, to]) {
  const [first, last] = [from, to].map((ms) => new Date(ms).getUTCFullYear());
  const by = Math.max(1, Math.ceil((last - first) / 10));
  return Array.from({ length: Math.floor((last - first) / by) }, (_, index) => Date.UTC(first + 1 + index * by, 0, 1)).filter((ms) => ms < to);
}
