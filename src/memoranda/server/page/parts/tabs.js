// Tabs: one is chosen by a click, or by the arrow keys.
import { html } from "page/lib/html.js";

const MOVES = { ArrowLeft: -1, ArrowRight: 1 };

/** `items`: [name, label] of each; what `chosen` names is shown below, as `children`. */
export function Tabs({ label, items, chosen, onChoose, children }) {
  const press = (event) => {
    const index = items.findIndex(([name]) => name === chosen);
    const next = event.key === "Home" ? 0 : event.key === "End" ? items.length - 1 : event.key in MOVES ? (index + MOVES[event.key] + items.length) % items.length : null;
    if (next === null) return;
    event.preventDefault();
    event.stopPropagation();
    event.currentTarget.children[next].focus();
    onChoose(items[next][0]);
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${press}>${items.map(([name, text]) => html`<button role="tab" id=${`tab-${name}`} aria-selected=${chosen === name} aria-controls="tab-panel" tabindex=${chosen === name ? 0 : -1} onClick=${() => onChoose(name)}>${text}</button>`)}</div>
    <div class="tab-panel" role="tabpanel" id="tab-panel" aria-labelledby=${`tab-${chosen}`}>${children}</div>`;
}
