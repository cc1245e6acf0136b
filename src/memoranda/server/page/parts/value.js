// Values for reading, alone or beside the one they replaced.
import { html, plural, seen } from "page/lib/html.js";

const text = (value) => (typeof value === "string" ? JSON.stringify(value) : JSON.stringify(value, null, 1)?.replace(/\n\s*/g, " ") ?? "");

/** A JSON object, a member a line. */
export function Value({ value }) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return html`<span class="value">${seen(text(value))}</span>`;
  return html`<span class="value">${Object.entries(value).map(([name, member], index) => html`${index > 0 && "\n"}<span class="name">${seen(name)}</span> ${seen(text(member))}`)}</span>`;
}

/** Members that are shown although they are the same. */
const SAME = 12;

/** Return the members of an object, those of objects in it by their paths. */
function leaves(value, path = "") {
  if (value === null || typeof value !== "object" || Array.isArray(value) || !Object.keys(value).length) return [[path, value]];
  return Object.entries(value).flatMap(([name, member]) => leaves(member, path ? `${path}.${name}` : name));
}

/** What changed between two JSON objects, member by member. */
export function Change({ before, after }) {
  if (before === undefined || before === null) return html`<${Value} value=${after} />`;
  if (after === undefined || after === null) return html`<span class="value"><del>${seen(text(before))}</del></span>`;
  const [olds, nows] = [before, after].map((value) => new Map(leaves(value)));
  const all = [...new Set([...olds.keys(), ...nows.keys()])];
  const isSame = (name) => olds.has(name) && nows.has(name) && text(olds.get(name)) === text(nows.get(name));
  const same = all.filter(isSame);
  const names = same.length > SAME ? all.filter((name) => !isSame(name)) : all;
  return html`<span class="value">${names.map((name, index) => {
    const [old, now] = [olds, nows].map((members) => (members.has(name) ? text(members.get(name)) : null));
    return html`${index > 0 && "\n"}<span class="name">${seen(name)}</span> ${old === now ? seen(now) : html`${old !== null && html`<del>${seen(old)}</del> `}${now !== null && html`<ins>${seen(now)}</ins>`}`}`;
  })}${names.length < all.length && html`${names.length > 0 && "\n"}<span class="quiet">${plural(same.length, "other member")} as before</span>`}</span>`;
}
