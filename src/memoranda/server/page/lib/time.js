// Times: in the viewer's locale, with the exact UTC on hover.
import { html } from "page/lib/html.js";

// The days of facts are days in UTC, wherever the viewer is: else a fact would begin on another day.
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const fine = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23" });
const minute = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const shortDay = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const month = new Intl.DateTimeFormat(undefined, { month: "short", year: "numeric" });
const FORMS = { day, moment, clock, fine, minute, shortDay, month };

const MS = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000, year: 31_557_600_000 };

/** Return the milliseconds of an RFC 3339 text, with the microseconds as a fraction. */
export function toMs(text) {
  const fraction = /\.(\d{3})(\d{1,6})/.exec(text);
  return Date.parse(text) + (fraction ? Number(`0.${fraction[2]}`) : 0);
}

/** Return an RFC 3339 text with microseconds. */
export function toText(ms) {
  const whole = Math.floor(ms);
  const micros = Math.min(999, Math.round((ms - whole) * 1000));
  return new Date(whole).toISOString().replace("Z", String(micros).padStart(3, "0") + "Z");
}

export const format = (ms, form = "moment") => FORMS[form].format(ms);

export const Time = ({ at, form = "moment" }) =>
  at ? html`<time datetime=${at} title="${at} (UTC)">${format(toMs(at), form)}</time>` : null;

/** The days a fact holds: from, to. */
export const Span = ({ from, to }) => html`<span class="num">${from ? html`<${Time} at=${from} form="day" />` : "ever"} – ${to ? html`<${Time} at=${to} form="day" />` : "still"}</span>`;

/** Return the form that tells times apart in a range of so many milliseconds. */
export function formFor(range) {
  if (range < 30 * MS.second) return "fine";
  if (range < 12 * MS.hour) return "clock";
  if (range < 3 * MS.day) return "minute";
  return range < MS.year ? "shortDay" : "month";
}

/** Return a duration in one short unit. */
export function duration(ms) {
  if (ms < MS.second) return `${Math.round(ms)} ms`;
  if (ms < MS.minute) return `${(ms / MS.second).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < MS.hour) return `${Math.round(ms / MS.minute)} min`;
  if (ms < 2 * MS.day) return `${Math.round(ms / MS.hour)} h`;
  return ms < 2 * MS.year ? `${Math.round(ms / MS.day)} d` : `${(ms / MS.year).toFixed(1)} y`;
}

/** Return the value for an input of days, in UTC. */
export const dayOf = (ms) => new Date(ms).toISOString().slice(0, 10);
