// Everything that was known of a namespace at a moment, in columns.
import { useSignal } from "@preact/signals";
import { html, seen } from "page/lib/html.js";
import { Empty, Loaded, useLoad } from "page/lib/load.js";
import { ALL, factId, FEW, recallMoment } from "page/lib/moments.js";
import { agent } from "page/lib/store.js";
import { Fact, Key, Memory } from "page/parts/items.js";

export function Known({ space, commit }) {
  const limit = useSignal(FEW);
  const moment = useLoad((signal) => recallMoment(agent.value, space, commit, limit.value, signal), [agent.value, space, commit, limit.value]);
  return html`<${Loaded} of=${moment}>${({ commit: read, keys, memories, facts }) => {
    if (!keys.items.length && !memories.items.length && !facts.items.length) return html`<${Empty} title="Nothing is known here yet">In <span class="mono">${seen(space)}</span>, nothing had been written by commit ${commit}.<//>`;
    const all = { isAll: limit.value === ALL, onAll: () => { limit.value = ALL; } };
    return html`<div class="columns" data-commit=${read}>
      <${Section} title="State" items=${keys} ...${all} of=${(entry) => html`<${Key} key=${entry.key} entry=${entry} />`} />
      <${Section} title="Memories" items=${memories} ...${all} of=${(memory) => html`<${Memory} key=${memory.id} memory=${memory} />`} />
      <${Section} title="Facts" items=${facts} ...${all} of=${(fact) => html`<${Fact} key=${factId(fact)} fact=${fact} />`} />
    </div>`;
  }}<//>`;
}

function Section({ title, items: { items, more }, isAll, onAll, of }) {
  if (!items.length) return null;
  const visible = isAll ? items : items.slice(0, 12);
  return html`<section class="column"><h3>${title} <span class="quiet num">${items.length}${more ? "+" : ""}</span></h3>${visible.map(of)}
    ${items.length > visible.length && html`<button onClick=${onAll}>Show ${more ? "more" : `all ${items.length}`}</button>`}
    ${isAll && more && html`<p class="quiet small">These are the first ${items.length}.</p>`}</section>`;
}
