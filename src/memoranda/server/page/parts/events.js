// The list of events: only the rows in sight are in the document.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { html, plural, seen } from "page/lib/html.js";
import { byWeight, groupOf, Summary } from "page/lib/operations.js";
import { format, formFor, Time } from "page/lib/time.js";
import { currentIndex, earlier, later, listed, lookAt, searchFurther, stopSearch, text } from "page/lib/timeline.js";
import { Empty } from "page/lib/load.js";
import { agent, timeOf } from "page/lib/store.js";
import { params, patch } from "page/lib/route.js";

const ROW = 40;
const MARGIN = 8;

export function Events() {
  const box = useRef(null);
  const top = useSignal(0);
  const { items, more, isLoading, hasEarlier, scanned } = listed.value;
  const index = currentIndex.value;
  const begins = useRef(null);
  useLayoutEffect(() => {
    // Events that were read before the others push them down: what is in sight stays.
    const added = items.findIndex((event) => event.commit_ts === begins.current);
    if (added > 0 && box.current) box.current.scrollTop += added * ROW;
    begins.current = items[0]?.commit_ts ?? null;
  }, [items]);
  useEffect(() => {
    const element = box.current;
    if (!element || index < 0) return;
    const place = index * ROW;
    if (place < element.scrollTop || place + ROW > element.scrollTop + element.clientHeight) element.scrollTop = place - element.clientHeight / 2;
  }, [index]);
  if (!items.length && !isLoading && !more) {
    return text.value || params.value.kinds || params.value.from ? html`<${Empty} title="No event matches"><button onClick=${() => patch({ q: null, kinds: null, from: null, to: null })}>Take all filters away</button><//>` : html`<${Empty} title="Nothing happened yet">Events of ${seen(agent.value)} appear here as soon as it writes. At the left, you choose another agent or namespace.<//>`;
  }
  const height = box.current?.clientHeight ?? 640;
  const form = items.length && formFor(timeOf(items.at(-1)) - timeOf(items[0])) === "fine" ? "fine" : "clock";
  const begin = Math.max(0, Math.floor(top.value / ROW) - MARGIN);
  const end = Math.min(items.length, Math.ceil((top.value + height) / ROW) + MARGIN);
  const scroll = (event) => {
    const element = event.currentTarget;
    top.value = element.scrollTop;
    if (element.scrollTop < ROW && hasEarlier && !isLoading) earlier();
    if (more && !isLoading && element.scrollTop + element.clientHeight > element.scrollHeight - 10 * ROW && !text.value) later();
  };
  return html`<div class="events" ref=${box} onScroll=${scroll} tabindex="0" role="region" aria-label="Events">
    <ol style=${{ height: `${items.length * ROW}px` }}>
      ${items.slice(begin, end).map((event, offset) => html`<${Row} key=${event.commit_ts} event=${event} place=${(begin + offset) * ROW} isCurrent=${begin + offset === index} day=${newDay(items, begin + offset)} form=${form} />`)}
    </ol>
    ${text.value && (more || isLoading) && html`<p class="searching small" role="status">${isLoading ? "Searching" : "Searched"} ${plural(scanned, "event")}${isLoading ? " …" : "."} <button onClick=${isLoading ? stopSearch : searchFurther}>${isLoading ? "Stop" : "Search on"}</button></p>`}
  </div>`;
}

const dayOf = (event) => format(timeOf(event), "shortDay");

/** Return the day of an event, if the one before is of another; null if all are of one day. */
function newDay(items, index) {
  if (dayOf(items[0]) === dayOf(items.at(-1))) return null;
  return index === 0 || dayOf(items[index - 1]) !== dayOf(items[index]) ? dayOf(items[index]) : null;
}

function Row({ event, place, isCurrent, day, form }) {
  const [main] = byWeight(event.operations);
  return html`<li style=${{ transform: `translateY(${place}px)` }} class=${isCurrent ? "current" : ""}>
    <button class="event of-${groupOf(main?.type)}" aria-current=${isCurrent ? "true" : undefined} onClick=${() => lookAt(event.commit_ts)}>
      <span class="num commit">${event.commit_ts}</span><span class="kind"></span><${Summary} event=${event} /><span class="when">${day && html`<span class="day">${day}</span>`}<${Time} at=${event.committed_at} form=${form} /></span>
    </button></li>`;
}
