// Markup, and stored text in it: always as text nodes, with characters one cannot see made visible.
import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);

// Controls, zero-width characters, and those that change the direction of what follows them.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u;
const EACH_UNSEEN = new RegExp(UNSEEN.source, "gu");

const codeOf = (character) => "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

/** Return stored text for an attribute or an option: unseen characters by their numbers. */
export function plain(text) {
  return String(text).replace(EACH_UNSEEN, (character) => `⟨${codeOf(character)}⟩`);
}

/** Return stored text as nodes: unseen characters by their numbers, so that none hides or reorders. */
export function seen(text) {
  const string = String(text);
  if (!UNSEEN.test(string)) return string;
  const nodes = [];
  let from = 0;
  for (const match of string.matchAll(EACH_UNSEEN)) {
    if (match.index > from) nodes.push(string.slice(from, match.index));
    nodes.push(html`<span class="unseen">${codeOf(match[0])}</span>`);
    from = match.index + match[0].length;
  }
  nodes.push(string.slice(from));
  return nodes;
}

/** What somebody said or an agent stored. */
export const Words = ({ text, tag = "span", ...rest }) => h(tag, { class: "words", dir: "auto", ...rest }, seen(text));

/** A key, an id or a number that programs compare. */
export const Mono = ({ text }) => html`<span class="mono">${seen(text)}</span>`;

export const plural = (number, noun, many = noun + "s") => `${number.toLocaleString()} ${number === 1 ? noun : many}`;

export const shorten = (text, length = 80) => (text.length > length ? text.slice(0, length - 1).trimEnd() + "…" : text);
