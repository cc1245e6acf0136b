// How a key, a memory or a fact came to be what it is: its versions, or what was stated of it.
import { list, part, read } from "page/lib/api.js";
import { html, Mono, seen, Words } from "page/lib/html.js";
import { Loaded, useLoad } from "page/lib/load.js";
import { Link, params } from "page/lib/route.js";
import { agent, arrival, moment } from "page/lib/store.js";
import { Span, Time } from "page/lib/time.js";
import { refParams } from "page/parts/items.js";
import { Change } from "page/parts/value.js";

/** Versions that are shown: the last ones. */
const LIMIT = 200;

export const History = ({ ref_ }) => (ref_.assertion_id ? html`<${FactHistory} id=${ref_.assertion_id} />` : html`<${Versions} ref_=${ref_} />`);

const CommitLink = ({ commit }) => html`<${Link} to="timeline" with=${{ at: commit }}>commit ${commit}<//>`;

// Versions of keys and of memories.

/** Read the versions up to the moment, the last ones if there are many. A history is read from its beginning, or from a moment. */
async function lastVersions(path, query, signal) {
  const versionsSince = (since, limit = LIMIT) => list(`${path}/history`, { ...query, since }, { signal, limit });
  const first = await versionsSince(null);
  if (!first.more) return first;
  const [last] = (await versionsSince(moment.value, 1)).items;
  if (!last || last.version <= LIMIT) return first;
  const old = await read(path, { ...query, version: last.version - LIMIT + 1 }, { signal });
  return versionsSince(old.commit_ts ?? old.updated_at);
}

function Versions({ ref_ }) {
  const isKey = ref_.key !== undefined;
  const [path, query] = isKey ? [`agents/${part(agent.value)}/keys/${part(ref_.key)}`, { namespace: ref_.namespace }] : [`memories/${part(ref_.memory_id)}`, { agent_id: agent.value }];
  const versions = useLoad((signal) => lastVersions(path, query, signal), [path, ref_.namespace, agent.value, moment.value, arrival.value?.commit_ts]);
  return html`<section class="sheet" aria-label="Its versions"><header><h2>Its versions</h2></header><${Loaded} of=${versions}>${({ items, more }) => html`
    <ol class="rows">${items.map((item, index) => ({ item, before: items[index - 1] })).reverse().map(({ item, before }) => html`<li class=${isKey ? "of-state" : "of-memory"}>
      <div class="item-head"><span class="kind">v${item.version}</span><${Time} at=${item.committed_at ?? item.updated_at} />${item.commit_ts && html`<${CommitLink} commit=${item.commit_ts} />`}</div>
      ${isKey ? html`<${Change} before=${before?.value} after=${item.value} />` : item.content !== null ? html`<${Words} text=${item.content} />` : html`<span class="quiet">erased</span>`}</li>`)}</ol>
    ${items[0]?.version > 1 && html`<p class="pad quiet small">Earlier versions are not shown here.</p>`}
    ${more && html`<p class="pad quiet small">Later versions are not shown here.</p>`}`}<//></section>`;
}

// Statements of facts.

async function readStatements(id, signal) {
  const known_at = params.value.at ? moment.value : null;
  const explanation = await read(`facts/${part(id)}/explanation`, { agent_id: agent.value, known_at }, { signal });
  const { subject, relation, namespace } = explanation.fact;
  const line = await read("timeline", { agent_id: agent.value, namespace, subject, relation, known_at }, { signal });
  return { ...explanation, line };
}

/** What was stated of a fact, and its place in the line of facts with its subject and relation. */
function FactHistory({ id }) {
  const statements = useLoad((signal) => readStatements(id, signal), [id, moment.value, agent.value]);
  return html`<section class="sheet" aria-label="Its history"><header><h2>Its history</h2></header><${Loaded} of=${statements}>${({ fact, assertions, end, line }) => html`
    <ol class="rows">
      ${end && html`<li class="of-fact"><div class="item-head"><span class="kind">ended on</span><${Time} at=${end.at} form="day" /></div><${Statement} of=${end} /></li>`}
      ${assertions.toReversed().map((assertion) => html`<li class="of-fact"><div class="item-head"><span class="kind">stated since</span><${Time} at=${assertion.valid_from} form="day" />${assertion.confidence < 1 && html`<span class="quiet small">confidence ${assertion.confidence}</span>`}</div><${Statement} of=${assertion} /></li>`)}
    </ol>
    <div class="fact-line"><h3><span class="words">${seen(fact.subject)} ${seen(fact.relation)}</span></h3>
      <ul>${line.map((other) => html`<li class=${other.assertions.includes(id) ? "picked" : ""}><${Span} from=${other.valid_from} to=${other.valid_to} /> ${other.assertions.includes(id) ? html`<b class="words">${seen(other.object)}</b>` : html`<${Link} to="why" with=${refParams({ assertion_id: other.assertions[0] })} class="words">${seen(other.object)}<//>`}</li>`)}</ul></div>`}<//></section>`;
}

const Statement = ({ of: { committed_at: time, commit_ts: commit, actor, quotes } }) => html`
  ${(quotes ?? []).map((words) => html`<div><q class="words" dir="auto">${seen(words)}</q></div>`)}
  <span class="quiet small"><${Time} at=${time} /> in <${CommitLink} commit=${commit} /> by <${Mono} text=${actor} /></span>`;
