// Everything that was known of a namespace at a moment, in columns.
import { useSignal } from "@preact/signals";
import { html, seen } from "page/lib/html.js";
import { Empty, Loaded, useLoad } from "page/lib/load.js";
import { factId, readMoment } from "page/lib/moments.js";
import { agent } from "page/lib/store.js";
import { Fact, Key, Memory } from "page/parts/items.js";

export function Known({ space, commit }) {
  const moment = useLoad((signal) => readMoment(agent.value, space, commit, { signal }), [agent.value, space, commit]);
  return html`<${Loaded} of=${moment}>${({ keys, memories, facts }) => {
    if (!keys.items.length && !memories.items.length && !facts.items.length) return html`<${Empty} title="Nothing is known here yet">In <span class="mono">${seen(space)}</span>, nothing had been written by commit ${commit}.<//>`;
    return html`<div class="columns">
      <${Section} title="State" items=${keys} of=${(entry) => html`<${Key} key=${entry.key} entry=${entry} />`} />
      <${Section} title="Memories" items=${memories} of=${(memory) => html`<${Memory} key=${memory.id} memory=${memory} />`} />
      <${Section} title="Facts" items=${facts} of=${(fact) => html`<${Fact} key=${factId(fact)} fact=${fact} />`} />
    </div>`;
  }}<//>`;
}

function Section({ title, items, of }) {
  const all = useSignal(false);
  if (!items.items.length) return null;
  const visible = all.value ? items.items : items.items.slice(0, 12);
  return html`<section class="column"><h3>${title} <span class="quiet num">${items.items.length}${items.more ? "+" : ""}</span></h3>${visible.map(of)}
    ${items.items.length > visible.length && html`<button onClick=${() => { all.value = true; }}>Show all ${items.items.length}</button>`}</section>`;
}
