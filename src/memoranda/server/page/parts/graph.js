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
  const open = (fact) => go(href("why", { fact: fact.assertions[0] }));
  return html`<section class="sheet graph"><svg viewBox="0 0 ${width} ${height}" role="group" aria-label=${`A graph of ${plural(names.length, "entity", "entities")} and ${plural(edges.length, "fact")}`}>
    ${edges.filter(({ subject, object }) => places.has(subject) && places.has(object)).map((fact) => html`<${Edge} fact=${fact} from=${places.get(fact.subject)} to=${places.get(fact.object)} isFaded=${!isValid(fact)} onOpen=${() => open(fact)} />`)}
    ${names.map((name) => html`<g transform="translate(${places.get(name).x} ${places.get(name).y})"><circle r=${5 + Math.min(6, degrees.get(name))} class="entity" /><text y=${-14} text-anchor="middle" class="entity-name">${shorten(plain(name), 28)}</text></g>`)}
  </svg><p class="pad quiet small">${degrees.size > names.length ? `The ${names.length} entities with most facts, of ${degrees.size}.` : "Choose a line to see why it is believed."} Pale lines do not hold.</p></section>`;
}

function Edge({ fact, from, to, isFaded, onOpen }) {
  const [x, y] = [(from.x + to.x) / 2, (from.y + to.y) / 2];
  const press = (event) => { if (event.key === "Enter") onOpen(); };
  return html`<g class="edge ${isFaded ? "faded" : ""}" tabindex="0" role="link" aria-label=${plain(`${fact.subject} ${fact.relation} ${fact.object}`)} onClick=${onOpen} onKeyDown=${press}>
    <line x1=${from.x} y1=${from.y} x2=${to.x} y2=${to.y} /><text x=${x} y=${y - 4} text-anchor="middle">${shorten(plain(fact.relation), 24)}</text></g>`;
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
