// A conversation as a chat, scrolled to the words that something rests on.
import { useEffect, useRef } from "preact/hooks";
import { part, read } from "page/lib/api.js";
import { toTurns } from "page/lib/conversation.js";
import { html, seen } from "page/lib/html.js";
import { Loaded, useLoad } from "page/lib/load.js";
import { Time } from "page/lib/time.js";

const useTalk = (id, spans, excerpts) => useLoad(async (signal) => {
  const [info, bytes] = await Promise.all([read(`transcripts/${part(id)}`, {}, { signal }), read(`transcripts/${part(id)}/content`, {}, { signal, asBytes: true })]);
  return { info, turns: toTurns(bytes, spans, excerpts) };
}, [id, JSON.stringify(spans)]);

const ABSENT = html`<p class="quiet small">It is no longer there, or this does not hold it.</p>`;

/** The words of a conversation that something quotes. */
export function Quote({ id, spans }) {
  const talk = useTalk(id, spans, []);
  if (talk.problem) return ABSENT;
  const quoted = (talk.data?.turns ?? []).flatMap(({ parts }) => parts.filter(({ isQuoted }) => isQuoted));
  return html`<p class="quoted words" dir="auto" aria-busy=${talk.isLoading ? "true" : undefined}>${quoted.map(({ text }, index) => html`${index > 0 && " … "}<mark>${seen(text)}</mark>`)}</p>`;
}

/** `isBare`: without a frame, as part of something else. */
export function Chat({ id, spans = [], excerpts = [], isBare = false }) {
  const talk = useTalk(id, spans, excerpts);
  if (isBare) return talk.problem ? ABSENT : html`<${Loaded} of=${talk}>${({ turns }) => html`<${Turns} turns=${turns} />`}<//>`;
  return html`<section class="sheet conversation" aria-label="Conversation"><${Loaded} of=${talk}>${({ info, turns }) => html`
    <header><h2>The conversation</h2><span class="quiet small"><${Time} at=${info.occurred_at ?? info.created_at} /></span></header>
    <${Turns} turns=${turns} />`}<//></section>`;
}

function Turns({ turns }) {
  const box = useRef(null);
  useEffect(() => {
    const mark = box.current?.querySelector("mark");
    if (mark) box.current.scrollTop = mark.offsetTop - box.current.offsetTop - box.current.clientHeight / 3;
  }, [turns]);
  const speakers = [...new Set(turns.map(({ who }) => who))];
  const side = (who) => (!who ? "plain" : speakers.indexOf(who) % 2 ? "other" : "");
  return html`<div class="chat" ref=${box} tabindex="0" role="region" aria-label="Words">${turns.map(({ who, when, parts }) => html`<div class="turn ${side(who)}">
    ${who && html`<span class="who">${seen(who)}${when && html` <span class="quiet">${seen(when)}</span>`}</span>`}
    <div class="said words" dir="auto">${parts.map(({ text, isQuoted }) => (isQuoted ? html`<mark>${seen(text)}</mark>` : seen(text)))}</div></div>`)}</div>`;
}
