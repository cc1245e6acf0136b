// Facts as a graph: entities push each other away, facts pull them together.
import { html, plain, plural, shorten } from "page/lib/html.js";
import { href, go } from "page/lib/route.js";

const MAX_ENTITIES = 80;
const WIDTHS = { wide: 880, narrow: 400 };
const ROUNDS = 240;

export function Graph({ facts, isValid }) {
  const edges = facts.filter((fact) => typeof fact.object === "string");
  const degrees = new Map();
  for (const { subject, object } of edges) for (const name of [subject, object]) degrees.set(name, (degrees.get(name) ?? 0) + 1);
  const names = [...degrees.entries()].sort((one, other) => other[1] - one[1]).slice(0, MAX_ENTITIES).map(([name]) => name);
  const width = matchMedia("(max-width: 820px)").matches ? WIDTHS.narrow : WIDTHS.wide;
  const { places, height } = layOut(names, edges, width);
  const radiusOf = (name) => 5 + Math.min(6, degrees.get(name));
  const visible = edges.filter(({ subject, object }) => places.has(subject) && places.has(object));
  const drawn = bend(visible).map(({ fact, offset }) => ({ fact, isFaded: !isValid(fact), open: () => go(href("why", { fact: fact.assertions[0] })), ...route(places.get(fact.subject), places.get(fact.object), offset, radiusOf(fact.object)) }));
  return html`<section class="sheet graph"><svg viewBox="0 0 ${width} ${height}" role="group" aria-label=${`A graph of ${plural(names.length, "entity", "entities")} and ${plural(visible.length, "fact")}`}>
    ${drawn.map((edge) => html`<${Edge} ...${edge} />`)}
    ${drawn.map(({ fact, isFaded, label, open }) => html`<text class="relation ${isFaded ? "faded" : ""}" x=${label.x} y=${label.y + 4} text-anchor="middle" aria-hidden="true" onClick=${open}>${shorten(plain(fact.relation), 24)}</text>`)}
    ${names.map((name) => html`<circle cx=${places.get(name).x} cy=${places.get(name).y} r=${radiusOf(name)} class="entity" />`)}
    ${names.map((name) => html`<text x=${places.get(name).x} y=${places.get(name).y + (places.get(name).y > height / 2 ? radiusOf(name) + 15 : -radiusOf(name) - 6)} text-anchor="middle" class="entity-name">${shorten(plain(name), 28)}</text>`)}
  </svg><p class="pad quiet small">${degrees.size > names.length ? `The ${names.length} entities with most facts, of ${degrees.size}. ` : ""}Choose a line to see why it is believed. Pale lines do not hold.</p></section>`;
}

/** Give facts between the same two entities lines of their own: how far each bends to a side. */
function bend(facts) {
  const pairs = Map.groupBy(facts, ({ subject, object }) => [subject, object].sort().join("\n"));
  return [...pairs.values()].flatMap((group) => group.map((fact, index) => ({ fact, offset: (index - (group.length - 1) / 2) * 34 * (fact.subject < fact.object ? 1 : -1) })));
}

/** Return the curve from one entity to another, the head of its arrow, and the place of its label. */
function route(from, to, offset, radius) {
  const length = Math.max(1, Math.hypot(to.x - from.x, to.y - from.y));
  const [nx, ny] = [-(to.y - from.y) / length, (to.x - from.x) / length];
  const bow = { x: (from.x + to.x) / 2 + nx * offset, y: (from.y + to.y) / 2 + ny * offset };
  const last = Math.max(1, Math.hypot(to.x - bow.x, to.y - bow.y));
  const [dx, dy] = [(to.x - bow.x) / last, (to.y - bow.y) / last];
  const tip = { x: to.x - dx * (radius + 2), y: to.y - dy * (radius + 2) };
  const foot = { x: tip.x - dx * 8, y: tip.y - dy * 8 };
  return {
    line: `M${from.x} ${from.y}Q${bow.x} ${bow.y} ${foot.x} ${foot.y}`,
    head: `M${tip.x} ${tip.y}L${foot.x - dy * 4} ${foot.y + dx * 4}L${foot.x + dy * 4} ${foot.y - dx * 4}Z`,
    label: { x: (from.x + to.x) / 2 + (nx * offset) / 2, y: (from.y + to.y) / 2 + (ny * offset) / 2 },
  };
}

function Edge({ fact, line, head, isFaded, open }) {
  const press = (event) => { if (event.key === "Enter") open(); };
  return html`<g class="edge ${isFaded ? "faded" : ""}" tabindex="0" role="link" aria-label=${plain(`${fact.subject} ${fact.relation} ${fact.object}${isFaded ? ", does not hold" : ""}`)} onClick=${open} onKeyDown=${press}>
    <path d=${line} class="reach" /><path d=${line} class="line" /><path d=${head} class="head" /></g>`;
}

/** Let entities push each other away and facts pull them together; the same facts give the same places. */
function layOut(names, edges, width) {
  const height = Math.max(320, Math.min(760, names.length * (width === WIDTHS.narrow ? 56 : 42)));
  const points = names.map((name, index) => {
    const angle = index * 2.399963;
    const radius = 26 * Math.sqrt(index + 0.4);
    return { name, x: width / 2 + radius * Math.cos(angle) * 2, y: height / 2 + radius * Math.sin(angle) };
  });
  const byName = new Map(points.map((point) => [point.name, point]));
  const ideal = Math.min(170, 1.1 * Math.sqrt((width * height) / Math.max(1, names.length)));
  for (let round = 0; round < ROUNDS; round += 1) {
    const heat = 24 * (1 - round / ROUNDS);
    for (const point of points) {
      let [dx, dy] = [(width / 2 - point.x) * 0.004, (height / 2 - point.y) * 0.012];
      for (const other of points) {
        if (other === point) continue;
        const [ax, ay] = [point.x - other.x, point.y - other.y];
        const distance = Math.max(4, Math.hypot(ax, ay));
        const push = (ideal * ideal) / (distance * distance * 4);
        dx += (ax / distance) * push * 12;
        dy += (ay / distance) * push * 12;
      }
      point.dx = dx;
      point.dy = dy;
    }
    for (const { subject, object } of edges) {
      const [one, other] = [byName.get(subject), byName.get(object)];
      if (!one || !other || one === other) continue;
      const [ax, ay] = [other.x - one.x, other.y - one.y];
      const distance = Math.max(1, Math.hypot(ax, ay));
      const pull = (distance - ideal) * 0.06;
      one.dx += (ax / distance) * pull;
      one.dy += (ay / distance) * pull;
      other.dx -= (ax / distance) * pull;
      other.dy -= (ay / distance) * pull;
    }
    for (const point of points) {
      const length = Math.max(0.01, Math.hypot(point.dx, point.dy));
      const step = Math.min(heat, length);
      point.x = Math.max(70, Math.min(width - 70, point.x + (point.dx / length) * step));
      point.y = Math.max(34, Math.min(height - 24, point.y + (point.dy / length) * step));
    }
  }
  return { places: byName, height };
}
