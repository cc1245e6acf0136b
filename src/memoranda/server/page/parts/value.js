// Values for reading, alone or beside the one they replaced.
import { html, seen } from "page/lib/html.js";

const text = (value) => (typeof value === "string" ? JSON.stringify(value) : JSON.stringify(value, null, 1)?.replace(/\n\s*/g, " ") ?? "");

/** A JSON object, a member a line. */
export function Value({ value }) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return html`<span class="value">${seen(text(value))}</span>`;
  return html`<span class="value">${Object.entries(value).map(([name, member], index) => html`${index > 0 && "\n"}<span class="name">${seen(name)}</span> ${seen(text(member))}`)}</span>`;
}

/** What changed between two JSON objects, member by member. */
export function Change({ before, after }) {
  if (before === undefined || before === null) return html`<${Value} value=${after} />`;
  if (after === undefined || after === null) return html`<span class="value"><del>${seen(text(before))}</del></span>`;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return html`<span class="value">${names.map((name, index) => {
    const [old, now] = [before[name], after[name]].map((member) => (member === undefined ? null : text(member)));
    return html`${index > 0 && "\n"}<span class="name">${seen(name)}</span> ${old === now ? seen(now) : html`${old !== null && html`<del>${seen(old)}</del> `}${now !== null && html`<ins>${seen(now)}</ins>`}`}`;
  })}</span>`;
}
