// The page: the rail, the time, and the view that the address names.
import { render } from "preact";
import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { request, signedOut } from "page/lib/api.js";
import { story } from "page/lib/carrier.js";
import { addressOf } from "page/lib/address.js";
import { unreachable } from "page/lib/problem.js";
import { html, plain } from "page/lib/html.js";
import { Empty, Loaded, ProblemBox, useLoad } from "page/lib/load.js";
import { go, href, Link, patch, params, view } from "page/lib/route.js";
import { agent, agentNames, boot, bootProblem, namespace, namespaces, openNotices, session, stats, stores } from "page/lib/store.js";
import { step } from "page/lib/timeline.js";
import { TimeBar } from "page/parts/strip.js";
import { SignIn } from "page/views/sign_in.js";
import { Timeline } from "page/views/timeline.js";

/** Whether a view can be shown: a file that was exported cannot search, verify or compare. */
const hasStore = () => story === null;

// Views other than the first are read when they are opened.
const PLACES = [
  { name: "timeline", label: "Timeline", show: Timeline },
  { name: "why", label: "Why", load: async () => (await import("page/views/why.js")).Why },
  { name: "inbox", label: "Inbox", load: async () => (await import("page/views/inbox.js")).Inbox },
  { name: "facts", label: "Facts", load: async () => (await import("page/views/facts.js")).Facts },
  { name: "recall", label: "Recall", load: async () => (await import("page/views/recall.js")).Recall, isShown: hasStore },
  { name: "trust", label: "Trust", load: async () => (await import("page/views/trust.js")).Trust, isShown: hasStore },
  { name: "compare", label: "Compare", load: async () => (await import("page/views/compare.js")).Compare, isShown: () => hasStore() && stores.value.length > 1 },
];

function Place({ place }) {
  const view = useLoad(() => place.show ?? place.load().catch(() => { throw unreachable(); }), [place.name]);
  if (story && place.isShown) return html`<div class="view"><header><h1>${place.label}</h1></header><section class="sheet"><${Empty} title="${place.label} needs the store">This is a file with one agent's story. Open the store it came from with <code>memoranda ui FILE</code>.<//></section></div>`;
  if (place.show) return html`<${place.show} />`;
  if (view.problem) return html`<div class="view"><header><h1>${place.label}</h1></header><${ProblemBox} problem=${view.problem} /></div>`;
  return html`<${Loaded} of=${view}>${(show) => html`<${show} />`}<//>`;
}

function Rail() {
  const links = useRef(null);
  const notices = openNotices.value;
  useEffect(() => {
    // On a phone, the views are one row that scrolls: the open one is in sight.
    const show = () => {
      const [row, link] = [links.current, links.current?.querySelector("[aria-current]")];
      if (link) row.scrollLeft = link.offsetLeft - row.offsetLeft - (row.clientWidth - link.clientWidth) / 2;
    };
    show();
    document.fonts?.ready.then(show);
  }, [view.value, notices?.count]); // a number beside a name makes it wider, as its font does
  const changeStore = (event) => go(href("timeline", { store: event.target.value, agent: null, ns: null, at: null, from: null, to: null }));
  const leave = async () => { await request("DELETE", "/session"); signedOut.value = true; };
  return html`<aside class="rail">
    <${Link} to="timeline" class="brand"><img src="/page/icon.svg" alt="" />Memoranda<//>
    <nav aria-label="Views" ref=${links}><ul>${PLACES.filter(({ name, isShown }) => !isShown || isShown() || view.value === name).map(({ name, label }) => html`<li><${Link} to=${name} aria-current=${view.value === name ? "page" : undefined}>${label}${name === "inbox" && notices?.count > 0 && html`<span class="count"><span class="hidden">open: </span>${notices.count}${notices.more ? "+" : ""}</span>`}<//></li>`)}</ul></nav>
    <div class="pickers">
      ${stores.value.length > 1 && html`<label><span>Store</span><select aria-label="Store" value=${params.value.store} onChange=${changeStore}>${stores.value.map((name) => html`<option value=${name}>${plain(name)}</option>`)}</select></label>`}
      <label><span>Agent</span><select aria-label="Agent" value=${agent.value} onChange=${(event) => patch({ agent: event.target.value, at: null, from: null, to: null, space: null, b: null })}>${agentNames.value.length ? agentNames.value.map((name) => html`<option value=${name}>${plain(name)}</option>`) : html`<option>none yet</option>`}</select></label>
      <label><span>Namespace</span><select aria-label="Namespace of events" value=${namespace.value ?? ""} onChange=${(event) => patch({ ns: event.target.value, space: null, from: null, to: null })}><option value="">All namespaces</option>${namespaces.value.map((name) => html`<option value=${name}>${plain(name)}</option>`)}</select></label>
    </div>
    <div class="foot">
      ${session.value?.token_id && html`<span>Signed in${session.value.agent_id ? ` as ${plain(session.value.agent_id)}` : ""}</span><button onClick=${leave}>Sign out</button>`}
      ${story && html`<span>A file with commits <span class="num">${story.first}</span> to <span class="num">${story.last}</span> of this agent. The store can also recall, verify and compare: <code>memoranda ui</code></span>`}
      <span>← → step · Shift-drag zooms</span>
    </div>
  </aside>`;
}

function App() {
  if (signedOut.value) return html`<${SignIn} />`;
  if (bootProblem.value) return html`<main class="view"><${ProblemBox} problem=${bootProblem.value} /><p><a href=${addressOf("", "")}>Begin anew</a></p></main>`;
  if (!stats.value) return html`<p class="boot" aria-busy="true">Reading the store …</p>`;
  const place = PLACES.find(({ name }) => name === view.value) ?? PLACES[0];
  return html`<a class="skip" href="#main">Skip to the view</a><div class="shell"><${Rail} /><div class="main">
    ${agent.value === null ? html`<main id="main" class="view"><${Empty} title=${session.value?.token_id ? "No agent that you may see has written yet" : "No agent has written yet"}>When one has written its first key, memory or fact, it appears here by itself. From a terminal: <code>memoranda write KEY '{"any": "JSON"}' <span class="whole">--agent NAME</span> <span class="whole">--db FILE</span></code><//></main>`
      : html`<${TimeBar} /><main id="main"><${Place} key=${place.name} place=${place} /></main>`}
  </div></div>`;
}

effect(() => {
  const place = PLACES.find(({ name }) => name === view.value) ?? PLACES[0];
  document.title = `${place.label} · Memoranda`;
});
addEventListener("keydown", (event) => {
  if (event.target.closest?.("input, select, textarea, [contenteditable]") || event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "ArrowLeft" || event.key === "k") step(-1);
  else if (event.key === "ArrowRight" || event.key === "j") step(1);
  else return;
  event.preventDefault();
});

render(html`<${App} />`, document.getElementById("app"));
boot();
