// The strip: an agent's operations over time, on a canvas, with the moment that is looked at.
import { effect, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { story } from "page/lib/carrier.js";
import { html, plain } from "page/lib/html.js";
import { byWeight, deedOf, groupOf, GROUPS, subjectOf, Summary } from "page/lib/operations.js";
import { at } from "page/lib/route.js";
import { head, isLive, timeOf } from "page/lib/store.js";
import { duration, format, formFor, Time } from "page/lib/time.js";
import { buckets, bucketsProblem, currentEvent, kinds, listed, lookAtPresent, seek, step, zoom } from "page/lib/timeline.js";
import { params } from "page/lib/route.js";
import { ProblemBox } from "page/lib/load.js";

/** Empty buckets in a row that are drawn as a short gap instead. */
const IDLE_BUCKETS = 6;
const GAP_WIDTH = 54;
/** A gap that is narrower than this has no label. */
const LABEL_MARGIN = 6;
const MAX_BAR = 12;
const AXIS = 16;
const TOP = 6;
/** Room at both ends, for the mark of the moment. */
const END = 6;

/** Lay buckets out on a width: cells for those with events, short gaps for idle times. */
export function layOut(items, width) {
  const cells = [];
  for (let index = 0; index < items.length; ) {
    let end = index;
    while (end < items.length && items[end].events === 0) end += 1;
    if (end - index >= IDLE_BUCKETS) {
      cells.push({ isGap: true, start: items[index].start, end: items[end - 1].end });
      index = end;
    } else {
      cells.push({ isGap: false, start: items[index].start, end: items[index].end, bucket: items[index] });
      index += 1;
    }
  }
  const gaps = cells.filter((cell) => cell.isGap).length;
  const room = width - 2 * END;
  const gapWidth = gaps ? Math.min(GAP_WIDTH, (room * 0.3) / gaps) : 0;
  const cellWidth = cells.length > gaps ? (room - gaps * gapWidth) / (cells.length - gaps) : 0;
  let x = END;
  for (const cell of cells) {
    cell.x = x;
    cell.width = cell.isGap ? gapWidth : cellWidth;
    const bar = Math.min(MAX_BAR, Math.max(1, cell.width - 1));
    cell.barX = cell.x + (cell.width - bar) / 2;
    cell.bar = bar;
    x += cell.width;
  }
  return cells;
}

/** Return where a time is on the strip. */
export function xOf(cells, ms) {
  const cell = cells.find(({ end }) => ms < end) ?? cells.at(-1);
  if (!cell) return 0;
  const share = Math.max(0, Math.min(1, (ms - cell.start) / (cell.end - cell.start || 1)));
  return cell.isGap ? cell.x + share * cell.width : cell.barX + share * cell.bar;
}

/** Return the time at a place of the strip. */
export function timeAt(cells, x) {
  const cell = cells.find((candidate) => x < candidate.x + candidate.width) ?? cells.at(-1);
  if (!cell) return 0;
  const [from, width] = cell.isGap ? [cell.x, cell.width] : [cell.barX, cell.bar];
  const share = Math.max(0, Math.min(1, (x - from) / (width || 1)));
  return cell.start + share * (cell.end - cell.start);
}

function draw(canvas, cells, selection) {
  const style = getComputedStyle(canvas);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = `500 11px ${style.fontFamily}`;
  const floor = height - AXIS;
  drawBars(pen, cells, floor, colour);
  pen.fillStyle = colour("rule-strong");
  pen.fillRect(0, floor, width, 1);
  drawAxis(pen, cells, width, floor, colour);
  if (selection) {
    pen.fillStyle = colour("moment");
    pen.globalAlpha = 0.16;
    pen.fillRect(Math.min(...selection), 0, Math.abs(selection[1] - selection[0]), floor);
    pen.globalAlpha = 1;
  }
  const event = currentEvent.value;
  if (event && cells.length) drawMoment(pen, xOf(cells, timeOf(event)), floor, colour("moment"));
}

function drawBars(pen, cells, floor, colour) {
  const chosen = kinds.value;
  const counts = cells.map(({ bucket }) => Object.entries(bucket?.counts ?? {}).filter(([kind]) => !chosen || chosen.includes(kind)));
  const sizes = counts.map((entries) => entries.reduce((sum, [, count]) => sum + count, 0));
  const peak = Math.sqrt(Math.max(1, ...sizes));
  const hues = Object.fromEntries(GROUPS.map(({ name }) => [name, colour(name)]));
  cells.forEach((cell, index) => {
    if (!sizes[index]) return;
    const full = Math.max(3, (Math.sqrt(sizes[index]) / peak) * (floor - TOP));
    const sums = {};
    for (const [kind, count] of counts[index]) sums[groupOf(kind)] = (sums[groupOf(kind)] ?? 0) + count;
    let bottom = floor;
    for (const { name } of GROUPS) {
      if (!sums[name]) continue;
      const part = (sums[name] / sizes[index]) * full;
      pen.fillStyle = hues[name];
      pen.fillRect(cell.barX, bottom - part, cell.bar, part);
      bottom -= part;
    }
  });
}

function drawAxis(pen, cells, width, floor, colour) {
  if (!cells.length) return;
  const form = formFor(cells.at(-1).end - cells[0].start);
  let free = 0;
  pen.textBaseline = "top";
  for (const cell of cells) if (cell.isGap) drawGap(pen, cell, floor, colour);
  pen.fillStyle = colour("ink-3");
  const hasDays = format(cells[0].start, "shortDay") !== format(cells.at(-1).end, "shortDay");
  let day = null;
  for (const cell of cells) {
    if (cell.isGap || !cell.bucket.events) continue;
    // Where times of several days are told apart by the clock, the first label of a day names it.
    const own = format(cell.start, "shortDay");
    const names = hasDays && form !== "shortDay" && form !== "month" && own !== day ? own + ", " : "";
    const label = names + format(cell.start, names ? "minute" : form);
    const size = pen.measureText(label).width;
    const x = Math.max(0, Math.min(width - size, cell.barX));
    if (x < free) continue;
    pen.fillText(label, x, floor + 4);
    day = own;
    free = x + size + 28;
  }
}

/** Draw an idle time: the axis is broken, and how long it was stands above. */
function drawGap(pen, cell, floor, colour) {
  pen.fillStyle = colour("paper");
  pen.fillRect(cell.x, floor, cell.width, 1);
  pen.fillStyle = colour("rule-strong");
  for (let x = cell.x + 3; x < cell.x + cell.width - 3; x += 6) pen.fillRect(x, floor, 2, 1);
  const time = duration(cell.end - cell.start);
  const label = [`${time} idle`, time].find((text) => pen.measureText(text).width + LABEL_MARGIN <= cell.width);
  if (!label) return;
  pen.fillStyle = colour("ink-3");
  pen.fillText(label, cell.x + (cell.width - pen.measureText(label).width) / 2, floor - 16);
}

function drawMoment(pen, x, floor, hue) {
  pen.fillStyle = hue;
  pen.fillRect(Math.round(x) - 1, 0, 2, floor + 4);
  pen.beginPath();
  pen.arc(Math.round(x), 5, 5, 0, 2 * Math.PI);
  pen.fill();
}

export function Strip() {
  const canvas = useRef(null);
  const picked = useSignal(null);
  const layout = useRef([]);
  useEffect(() => {
    const paint = () => {
      if (!canvas.current) return;
      layout.current = layOut(buckets.value, canvas.current.clientWidth);
      draw(canvas.current, layout.current, picked.value);
    };
    const stop = effect(paint);
    const sizes = new ResizeObserver(paint);
    sizes.observe(canvas.current);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", paint);
    document.fonts?.ready.then(paint);
    return () => { stop(); sizes.disconnect(); scheme.removeEventListener("change", paint); };
  }, []);
  const place = (event) => event.clientX - canvas.current.getBoundingClientRect().left;
  const press = (event) => {
    if (event.button) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    if (event.shiftKey) picked.value = [place(event), place(event)];
    else seek(timeAt(layout.current, place(event)));
  };
  const drag = (event) => {
    if (!event.buttons) return;
    if (picked.value) picked.value = [picked.value[0], place(event)];
    else seek(timeAt(layout.current, place(event)));
  };
  const release = () => {
    if (!picked.value) return;
    const [from, to] = picked.value.map((x) => timeAt(layout.current, x)).sort((one, other) => one - other);
    picked.value = null;
    if (to > from) zoom(from, to);
  };
  const turn = (event) => {
    event.preventDefault();
    zoomBy(event.deltaY > 0 ? 1.5 : 1 / 1.5, timeAt(layout.current, place(event)));
  };
  const pressKey = (event) => {
    const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
    if (event.key in moves) step(moves[event.key]);
    else if (event.key === "Home") seek(buckets.value[0]?.start ?? 0);
    else if (event.key === "End") lookAtPresent();
    else if (event.key === "+" || event.key === "=") zoomBy(1 / 3);
    else if (event.key === "-") zoomBy(3);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const event = currentEvent.value;
  const said = event ? `commit ${event.commit_ts}, ${event.operations.map((operation) => `${deedOf(operation)} ${subjectOf(operation)}`)[0]}` : "no event";
  return html`<div class="strip" role="slider" tabindex="0" aria-label="The moment you look at" aria-valuemin="0" aria-valuemax=${head.value} aria-valuenow=${event?.commit_ts ?? 0} aria-valuetext=${plain(said)}
    onPointerDown=${press} onPointerMove=${drag} onPointerUp=${release} onWheel=${turn} onDblClick=${() => zoom(null, null)} onKeyDown=${pressKey}><canvas ref=${canvas}></canvas></div>`;
}

function zoomBy(factor, around) {
  const items = buckets.value;
  if (!items.length) return;
  const [from, to] = [items[0].start, items.at(-1).end];
  const centre = around ?? (currentEvent.value ? timeOf(currentEvent.value) : (from + to) / 2);
  const width = (to - from) * factor;
  if (factor > 1 && !params.value.from && !params.value.to) return;
  if (width < 0.5) return;
  const share = (centre - from) / (to - from || 1);
  zoom(centre - share * width, centre + (1 - share) * width);
}

/** The strip, what it shows, and its tools. */
export function TimeBar() {
  const event = currentEvent.value;
  const isZoomed = params.value.from || params.value.to;
  return html`<section class="timebar" aria-label="Time">
    <div class="strip-head">
      <div class="when" aria-live="polite">
        ${event ? html`<span><b>${at.value !== null ? "As of" : story ? "At the end" : isLive.value === false ? "Last seen" : "Now"}</b> <span class="num">commit ${event.commit_ts}</span></span><${Time} at=${event.committed_at} /><${Line} event=${event} />`
          : html`<span class="quiet">${listed.value.isLoading ? "Reading …" : "There are no events here."}</span>`}
      </div>
      <div class="tools">
        <span class="legend">${GROUPS.map(({ name, label }) => html`<span class="kind of-${name}">${label}</span>`)}</span>
        <button class="bare" onClick=${() => step(-1)} title="The event before (←)" aria-label="The event before">←</button>
        <button class="bare" onClick=${() => step(1)} title="The event after (→)" aria-label="The event after">→</button>
        <button class="bare" onClick=${() => zoomBy(1 / 3)} title="Zoom in (wheel; or drag with Shift)" aria-label="Zoom in">+</button>
        <button class="bare" disabled=${!isZoomed} onClick=${() => zoomBy(3)} title="Zoom out (wheel)" aria-label="Zoom out">−</button>
        <button class="bare" disabled=${!isZoomed} onClick=${() => zoom(null, null)} title="Show all of the time">All</button>
        <button class="bare" aria-pressed=${at.value === null} onClick=${lookAtPresent} title=${story ? "Go to the end" : isLive.value === false ? "The server does not answer: new events do not arrive" : "Go to the present, and follow it"}>${story ? "End" : html`<span class="live-dot ${isLive.value ? "" : "off"}"></span>${isLive.value === false ? "Not live" : "Live"}`}</button>
      </div>
    </div>
    ${bucketsProblem.value ? html`<${ProblemBox} problem=${bucketsProblem.value} />` : html`<${Strip} />`}
  </section>`;
}

function Line({ event }) {
  const [first] = byWeight(event.operations);
  return first ? html`<span class="line kind of-${groupOf(first.type)}"><${Summary} event=${event} /></span>` : null;
}
