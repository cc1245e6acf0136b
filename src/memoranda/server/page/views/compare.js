// Compare: a fork beside its origin, aligned where they part.
import { list, read } from "page/lib/api.js";
import { html, Mono, plain, plural, seen } from "page/lib/html.js";
import { Empty, Loaded, useLoad } from "page/lib/load.js";
import { pairMoments, readMoment, spaceOf } from "page/lib/moments.js";
import { byWeight, groupOf, Summary } from "page/lib/operations.js";
import { Link, params, patch } from "page/lib/route.js";
import { agent, namespaces, stores } from "page/lib/store.js";
import { Time } from "page/lib/time.js";
import { Fact, Key, Memory } from "page/parts/items.js";

const EVENTS = 200;

export function Compare() {
  const others = stores.value.filter((name) => name !== params.value.store);
  const other = params.value.other ?? null;
  if (!others.length) return html`<div class="view"><header><h1>Compare</h1></header><section class="sheet"><${Empty} title="There is one store only">Make a fork beside this one with <code>memoranda fork --at COMMIT NEWFILE</code>, and open their folder: <code>memoranda ui FOLDER</code>.<//></section></div>`;
  return html`<div class="view"><header><h1>Compare</h1><p>A fork beside its origin: what they share, where they part, and what each knows now.</p></header>
    <div class="bar"><span class="small">This store, <${Mono} text=${params.value.store} />, beside</span><label class="row"><select aria-label="The other store" value=${other ?? ""} onChange=${(event) => patch({ other: event.target.value })}><option value="">choose a store</option>${others.map((name) => html`<option value=${name}>${plain(name)}</option>`)}</select></label></div>
    ${other ? html`<${Pair} left=${params.value.store} right=${other} />` : html`<section class="sheet"><${Empty} title="Choose another store">It stands beside ${seen(params.value.store)}.<//></section>`}</div>`;
}

const query = () => ({ agent_id: agent.value, all_namespaces: true });
const isSame = (one, other) => (!one && !other) || (one && other && one.commit_ts === other.commit_ts && one.txn_id === other.txn_id && one.committed_at === other.committed_at);

/** Return the first commit at which two logs differ, by halving: up to it, they are the same. */
async function parting(left, right, signal) {
  const at = (store, commit) => read("replay", { ...query(), after_commit: commit - 1, limit: 1 }, { store, signal }).then(({ items }) => items[0] ?? null);
  const heads = await Promise.all([left, right].map((store) => read("stats", {}, { store, signal }).then(({ commits }) => commits)));
  let low = 1;
  let high = Math.min(...heads) + 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    const [one, other] = await Promise.all([at(left, middle), at(right, middle)]);
    if (isSame(one, other) && one && one.commit_ts <= Math.min(...heads)) low = one.commit_ts + 1;
    else high = middle;
  }
  return { commit: low, heads };
}

function Pair({ left, right }) {
  const both = useLoad(async (signal) => {
    const { commit, heads } = await parting(left, right, signal);
    const events = await Promise.all([left, right].map((store) => list("replay", { ...query(), after_commit: commit - 1 }, { store, signal, limit: EVENTS })));
    const touched = [...new Set(events.flatMap(({ items }) => items.flatMap(({ operations }) => operations.map((operation) => spaceOf([operation])))))];
    const spaces = touched.length ? touched : namespaces.value.slice(0, 1);
    const moments = await Promise.all(spaces.map(async (space) => {
      const [one, other] = await Promise.all([left, right].map((store, index) => readMoment(agent.value, space, heads[index], { store, signal })));
      return { space, ...pairMoments(one, other) };
    }));
    return { commit, events, moments };
  }, [left, right, agent.value]);
  return html`<${Loaded} of=${both}>${({ commit, events, moments }) => html`
    <section class="sheet"><header><h2>${commit === 1 ? "They share nothing" : html`The same up to commit <span class="num">${commit - 1}</span>`}</h2><span class="quiet small">then each goes its own way</span></header>
      <div class="beside"><div class="beside-head"><span class="mono">${seen(left)}</span><span class="mono">${seen(right)}</span></div>
      <div class="beside-row">${events.map(({ items, more }, side) => html`<ol class="parted" tabindex="0">${items.map((event) => html`<li class="of-${groupOf(byWeight(event.operations)[0]?.type)}"><span class="num quiet">${event.commit_ts}</span> <span class="kind"></span><${Link} class="node-link" to="timeline" with=${{ store: [left, right][side], at: event.commit_ts, ns: null, from: null, to: null }}><${Summary} event=${event} /><//> <span class="quiet small"><${Time} at=${event.committed_at} form="clock" /></span></li>`)}${!items.length && html`<li class="quiet"><span></span><span></span>ends here</li>`}${more && html`<li class="quiet"><span></span><span></span>and more</li>`}</ol>`)}</div></div></section>
    ${moments.map((moment) => html`<${Differences} moment=${moment} left=${left} right=${right} />`)}`}<//>`;
}

function Differences({ moment, left, right }) {
  const { space, keys, memories, facts } = moment;
  const all = [...keys.map((item) => ({ ...item, of: (entry, store) => html`<${Key} entry=${entry} store=${store} />`, differs: JSON.stringify(item.before?.value) !== JSON.stringify(item.after?.value) })), ...memories.map((item) => ({ ...item, of: (memory, store) => html`<${Memory} memory=${memory} store=${store} />`, differs: !item.isSame })), ...facts.map((item) => ({ ...item, of: (fact, store) => html`<${Fact} fact=${fact} store=${store} />`, differs: !item.isSame }))].filter(({ differs }) => differs);
  return html`<section class="sheet differences"><header><h2>What they know now, in <span class="mono">${seen(space)}</span></h2><span class="quiet small">${plural(all.length, "difference")}</span></header>
    ${all.length ? html`<div class="beside"><div class="beside-head"><span class="mono">${seen(left)}</span><span class="mono">${seen(right)}</span></div>${all.map(({ before, after, of }) => html`<div class="beside-row"><div>${before ? of(before, left) : html`<span class="absent quiet small">not known</span>`}</div><div>${after ? of(after, right) : html`<span class="absent quiet small">not known</span>`}</div></div>`)}</div>` : html`<${Empty} title="The same">Here, both know the same.<//>`}</section>`;
}
