// Inbox: beliefs whose evidence changed, the old and the new beside what rests on them, and a decision.
import { useSignal } from "@preact/signals";
import { ask, list, part, read, request } from "page/lib/api.js";
import { story } from "page/lib/carrier.js";
import { html, Mono, seen, shorten, Words } from "page/lib/html.js";
import { Empty, Loaded, ProblemBox, useLoad } from "page/lib/load.js";
import { FATES } from "page/lib/operations.js";
import { Problem } from "page/lib/problem.js";
import { at, Link, params, patch } from "page/lib/route.js";
import { agent, arrival, canWrite, countNotices, namespace, namespaces } from "page/lib/store.js";
import { Time, toMs, toText } from "page/lib/time.js";
import { refParams } from "page/parts/items.js";
import { Tabs } from "page/parts/tabs.js";
import { Change, Value } from "page/parts/value.js";

const LIMIT = 60;

export function Inbox() {
  const status = params.value.status ?? "open";
  const notices = useLoad(async (signal) => {
    if (status === "stale") return null;
    const { items, more } = await list("invalidations", { agent_id: agent.value, status, at: at.value }, { limit: LIMIT, signal });
    const detailed = await Promise.all(items.map(async (notice) => ({ notice, ...(await details(notice, signal)) })));
    return { items: detailed.reverse(), more };
  }, [agent.value, status, at.value, arrival.value?.commit_ts]);
  if (status === "stale") return html`<${Frame} status=${status}><${StaleKeys} /><//>`;
  return html`<${Frame} status=${status}><${Loaded} of=${notices}>${({ items, more }) => (items.length
      ? html`<div class="notices">${items.map((item) => html`<${Notice} key=${item.notice.id} item=${item} />`)}${more && html`<p class="quiet">There are more than ${LIMIT}: these are the first.</p>`}</div>`
      : html`<section class="sheet"><${Empty} title=${status === "open" ? "Nothing to decide" : "Nothing was decided yet"}>${status === "open" ? "When a belief is superseded or a fact ends, what rests on it appears here." : "Decisions stay in the log, with their notes."}<//></section>`)}<//><//>`;
}

const TABS = { open: "To decide", resolved: "Decided", stale: "Stale keys" };

function Frame({ status, children }) {
  const choose = (name) => patch({ status: name === "open" ? null : name });
  return html`<div class="view"><header><h1>Inbox</h1><p>Something these rest on has changed. Decide for each whether it still holds.</p></header>
    <${Tabs} label="Which notices" items=${Object.entries(TABS)} chosen=${status} onChoose=${choose}>${children}<//></div>`;
}

/** Keys whose value rests on something that is no longer believed, decided or not. */
function StaleKeys() {
  const spaces = namespace.value ? [namespace.value] : namespaces.value;
  const keys = useLoad(async (signal) => {
    const pages = await Promise.all(spaces.map((space) => list(`agents/${part(agent.value)}/stale-keys`, { namespace: space, at: at.value }, { limit: 200, signal })));
    return pages.flatMap(({ items }) => items);
  }, [agent.value, spaces.join("\n"), at.value, arrival.value?.commit_ts]);
  return html`<section class="sheet" aria-label="Stale keys"><${Loaded} of=${keys}>${(items) => (items.length
    ? html`<ul class="rows">${items.map(({ ref, summary, committed_at: time, rests_on: grounds = [] }) => html`<li class="of-state"><div class="item-head"><span class="kind"><${Mono} text=${ref.key} /></span><span class="quiet small">${seen(ref.namespace)}, written <${Time} at=${time} /></span><${Link} to="why" with=${refParams(ref)} class="why-link">what it rests on<//></div>
      <span class="value">${seen(summary)}</span>
      ${staleGrounds(grounds).map(({ name, reasons }) => html`<div class="ground small"><span class="quiet">rests on</span> ${name} ${reasons.map((reason) => html`<span class="chip stale">${seen(reason)}</span> `)}</div>`)}</li>`)}</ul>`
    : html`<${Empty} title="No key is stale">Every key rests on what is still believed.<//>`)}<//></section>`;
}

/** Return what a key rests on that is not believed any more, each once, with the reasons. */
function staleGrounds(grounds) {
  const stale = new Map(grounds.filter((node) => node.stale.length).map((node) => [JSON.stringify(node.ref), node]));
  return [...stale.values()].map(({ ref, summary, stale: reasons }) => ({ name: ref?.key === undefined ? html`<${Words} text=${shorten(summary, 120)} />` : html`<${Mono} text=${ref.key} />`, reasons }));
}

/** Read what a notice is about: the dependent, the evidence before it changed, and what took its place. */
async function details(notice, signal) {
  const { evidence, dependent: subject } = notice;
  const before = toText(toMs(notice.created_at) - 0.001);
  const now = () => {
    if (notice.invalidating_id) return thing({ memory_id: notice.invalidating_id }, null, signal);
    if (evidence?.key !== undefined) return thing({ ...evidence, version: null }, null, signal);
    return evidence?.assertion_id && notice.change === "closed" ? thing(evidence, notice.created_at, signal) : null;
  };
  const [dependent, old, next, replacement] = await Promise.all([
    thing(subject, notice.status === "open" ? null : before, signal),
    thing(evidence, before, signal),
    now(),
    notice.replacement ? thing({ memory_id: notice.replacement }, null, signal) : null,
  ]);
  return { dependent, old, now: next, replacement };
}

const GONE = { status: 404 };

/** Read a key, a memory or a fact. What was deleted or retracted is read by its history: it is no error. */
async function thing(ref, time, signal) {
  if (!ref) return null;
  try {
    if (ref.key !== undefined) {
      const entry = await keyOf(ref, signal);
      return entry ? { ref, entry } : { ref, problem: GONE };
    }
    if (ref.memory_id) {
      const { items } = await list(`memories/${part(ref.memory_id)}/history`, { agent_id: agent.value }, { signal });
      const memory = items.find(({ version }) => version === ref.version) ?? items.at(-1);
      return memory ? { ref, memory } : { ref, problem: GONE };
    }
    const { nodes } = await ask("why", { ref, at: time, agent_id: agent.value }, { signal });
    return { ref, node: nodes[0] };
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    return { ref, problem };
  }
}

async function keyOf({ agent_id: owner, namespace: space, key, version }, signal) {
  const path = `agents/${part(owner)}`;
  if (version) return read(`${path}/keys/${part(key)}`, { namespace: space, version }, { signal });
  const { items } = await list(`${path}/state`, { namespace: space, prefix: key }, { signal, limit: 1 });
  return items.find((entry) => entry.key === key) ?? null;
}

/** `isThen`: as it was, before it became stale. */
function Thing({ of, isThen = false }) {
  if (!of) return html`<span class="quiet">nothing took its place</span>`;
  if (of.problem) return html`<p class="quiet">${of.problem.status === 404 ? "no longer there" : of.problem.message}</p>`;
  if (of.entry) return html`<div class="of-state"><span class="kind"><${Mono} text=${of.ref.key} /></span> <span class="quiet small">v${of.entry.version}</span><br /><${Value} value=${of.entry.value} /></div>`;
  if (of.memory) return html`<div class="of-memory"><span class="kind">${of.memory.kind}</span><br /><${Words} text=${of.memory.content ?? "erased"} />${of.memory.retracted && !isThen && html` <span class="chip stale">retracted</span>`}</div>`;
  return html`<div class="of-fact"><span class="kind">fact</span><br /><${Words} text=${of.node.summary} />${!isThen && of.node.stale.map((reason) => html` <span class="chip stale">${seen(reason)}</span>`)}</div>`;
}

const DECISIONS = { keep: "kept", revise: "revised", retract: "retracted" };

function Notice({ item }) {
  const { notice, dependent, old, now, replacement } = item;
  const isBoth = old?.entry && now?.entry && old.entry.version !== now.entry.version;
  return html`<article class="sheet notice">
    <header><h2>${notice.kind === "stale_key" ? "A key" : notice.kind === "stale_fact" ? "A fact" : "A belief"} rests on something that ${FATES[notice.change] ?? "changed"}</h2><span class="quiet small"><${Time} at=${notice.created_at} /></span></header>
    <div class="notice-grid">
      <div><h3>It was</h3><${Thing} of=${old} isThen=${true} /></div>
      <div><h3>It is now</h3>${isBoth ? html`<div class="of-state"><span class="kind"><${Mono} text=${now.ref.key} /></span> <span class="quiet small">v${now.entry.version}</span><br /><${Change} before=${old.entry.value} after=${now.entry.value} /></div>` : html`<${Thing} of=${now} />`}</div>
      <div class="dependent"><h3>What rests on it</h3><${Thing} of=${dependent} /><${Link} to="why" with=${{ at: null, ...refParams(notice.dependent) }} class="small">${notice.status === "open" ? "Why is it believed?" : "What it rests on"}<//></div>
    </div>
    ${notice.status === "open" ? html`<${Decide} item=${item} />` : html`<div class="pad decided"><p><span class="chip good">${DECISIONS[notice.decision] ?? notice.decision}</span> ${notice.note && html`<${Words} text=${notice.note} />`} <span class="quiet small">by ${seen(notice.resolved_by ?? "")}, <${Time} at=${notice.resolved_at} /></span></p>${replacement?.memory && html`<p class="small"><span class="quiet">It is now believed that</span> <${Link} to="why" with=${{ memory: replacement.ref.memory_id }} class="node-link"><${Words} text=${replacement.memory.content ?? "erased"} /><//></p>`}</div>`}
  </article>`;
}

function Decide({ item }) {
  const { notice, dependent } = item;
  const isRevising = useSignal(false);
  const isBusy = useSignal(false);
  const problem = useSignal(null);
  if (!canWrite.value) return html`<p class="pad quiet">${story ? "It is decided in the store, not in this file." : "Your token may read, and not decide."}</p>`;
  if (at.value !== null) return html`<p class="pad quiet">You look at the past. <button onClick=${() => patch({ at: null })}>Go to the present</button> to decide.</p>`;
  const decide = async (decision, form) => {
    isBusy.value = true;
    problem.value = null;
    try {
      await apply(notice, dependent, decision, form.get("note"), form.get("revised"));
      await countNotices();
    } catch (error) {
      problem.value = error;
    }
    isBusy.value = false;
  };
  const submit = (event) => { event.preventDefault(); decide(event.submitter.value, new FormData(event.currentTarget)); };
  const canRevise = dependent?.memory || dependent?.entry;
  return html`<form class="decide" onSubmit=${submit}>
    ${isRevising.value && html`<label>${dependent.memory ? "What is believed instead" : "Its new value, in JSON"}<textarea name="revised" rows="3" required>${dependent.memory ? dependent.memory.content : JSON.stringify(dependent.entry.value, null, 2)}</textarea></label>`}
    <div class="bar"><input class="grow" name="note" aria-label="Note" placeholder="A note for the log (optional)" />
      ${isRevising.value ? html`<button class="primary" value="revise" disabled=${isBusy.value}>Revise</button><button type="button" onClick=${() => { isRevising.value = false; }}>Cancel</button>`
        : html`<button value="keep" disabled=${isBusy.value} title="It still holds">Keep</button>${canRevise && html`<button type="button" disabled=${isBusy.value} onClick=${() => { isRevising.value = true; }} title="Replace it by something that holds">Revise …</button>`}<button value="retract" disabled=${isBusy.value} title="It does not hold any more">Retract</button>`}</div>
    ${problem.value && html`<${ProblemBox} problem=${problem.value} />`}
  </form>`;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Problem(0, { title: "This is not JSON", detail: `A value is an object, such as {"verdict": "paid"}. The browser says: ${error.message}` });
  }
}

/** Change what the decision changes, and record it. */
async function apply(notice, dependent, decision, note, revised) {
  const answer = { decision, note: note || null, agent_id: agent.value };
  const { ref } = dependent;
  if (ref.key !== undefined && decision !== "keep") {
    const path = `/stores/${part(params.value.store ?? "-")}/agents/${part(ref.agent_id)}/keys/${part(ref.key)}`;
    if (decision === "revise") await request("PUT", path, { query: { namespace: ref.namespace }, body: { value: parse(revised) } });
    else await request("DELETE", path, { query: { namespace: ref.namespace } });
  } else if (ref.assertion_id && decision === "retract") {
    const space = notice.namespace.replace(/\/_.*$/, ""); // a notice is below the namespace it is about
    await ask("retract-fact", { assertion_id: ref.assertion_id, agent_id: agent.value, namespace: space, reason: note || null });
  } else if (ref.memory_id && decision === "revise") {
    const on = notice.invalidating_id ? [notice.invalidating_id] : [];
    const space = dependent.memory.namespace;
    const made = await ask(on.length ? "reflect" : "memories", { agent_id: agent.value, namespace: space, content: revised, ...(on.length ? { on } : {}) });
    answer.replacement = made.id;
  }
  await ask(`invalidations/${part(notice.id)}/resolve`, answer);
}
