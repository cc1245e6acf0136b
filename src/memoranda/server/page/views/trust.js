// Trust: is the log whole, who signed it, and what was erased from it.
import { useSignal } from "@preact/signals";
import { ask, download, list, part, read } from "page/lib/api.js";
import { evidenceOfLog, proofOf } from "page/lib/evidence.js";
import { html, Mono, plain, plural, seen } from "page/lib/html.js";
import { Empty, Loaded, ProblemBox, useLoad } from "page/lib/load.js";
import { params } from "page/lib/route.js";
import { agent, arrival, canForget, head, namespace, namespaces, readStore, stats } from "page/lib/store.js";
import { verbOf } from "page/lib/operations.js";
import { Time } from "page/lib/time.js";
import { SaveEvidence } from "page/parts/save_evidence.js";

export function Trust() {
  const version = useSignal(0);
  return html`<div class="view"><header><h1>Trust</h1><p>Every event is chained to the one before. Verify the chain, prove an event to others, and erase what must go, with a certificate.</p></header>
    <div class="trust-grid"><${Chain} /><${Proofs} /></div>
    <${Evidence} />
    <${Desk} onErased=${() => { version.value += 1; }} />
    <${Certificates} version=${version.value} /></div>`;
}

// The chain.

/** Errors that say what a verification has found; others say why there was none. */
const DAMAGED = ["Corruption", "ChainBroken", "ViewsDiffer"];

function Chain() {
  const isDeep = useSignal(false);
  const began = useSignal(null);
  const result = useSignal(null);
  const problem = useSignal(null);
  const step = useSignal(null);
  const verify = async () => {
    began.value = new AbortController();
    result.value = problem.value = step.value = null;
    try {
      result.value = await ask("verify", { deep: isDeep.value }, { signal: began.value.signal, onProgress: (progress) => { step.value = progress; } });
    } catch (error) {
      if (error.name !== "AbortError") problem.value = error;
    }
    began.value = null;
  };
  return html`<section class="sheet" aria-label="The chain"><header><h2>The chain</h2>${result.value && html`<span class="chip good">it holds</span>`}${problem.value && html`<span class="chip bad">${DAMAGED.includes(problem.value.kind) ? "it does not hold" : "not verified"}</span>`}</header>
    <div class="pad stack">
      <dl class="pairs"><dt>Log</dt><dd><${Mono} text=${stats.value.log_id ?? "not visible to you"} /></dd><dt>Commits</dt><dd class="num">${head.value.toLocaleString()}</dd>
        ${result.value && html`<dt>Verified</dt><dd class="num">${plural(result.value.commits, "commit")}${result.value.rows !== null ? `, ${plural(result.value.rows, "row")} of the views` : ""}</dd><dt>Head</dt><dd><${Mono} text=${result.value.head_hash} /></dd><dt>Signed by agents</dt><dd class="num">${result.value.signed}</dd>`}</dl>
      ${result.value?.warnings.map((warning) => html`<p class="chip stale">${seen(warning)}</p>`)}
      ${problem.value && html`<${ProblemBox} problem=${problem.value} />`}
      ${began.value ? html`<div class="bar"><label class="grow">${step.value ? `Verified ${step.value.done.toLocaleString()} of ${step.value.total.toLocaleString()}` : `Verifying ${plural(head.value, "commit")}`} …<progress aria-label="Verification" value=${step.value?.done} max=${step.value?.total || undefined}></progress></label><button onClick=${() => began.value.abort()}>Cancel</button></div>`
        : html`<div class="bar"><button class="primary" onClick=${verify}>Verify</button><label class="row"><input type="checkbox" checked=${isDeep.value} onChange=${(event) => { isDeep.value = event.target.checked; }} />Also compare every view with the log</label></div>`}
    </div></section>`;
}

// Proofs.

function Proofs() {
  const notes = useLoad((signal) => list("checkpoints", {}, { signal, limit: Infinity }), [arrival.value?.commit_ts]);
  const problem = useSignal(null);
  const prove = async (event) => {
    event.preventDefault();
    problem.value = null;
    const commit = new FormData(event.currentTarget).get("commit");
    try {
      download(`proof-of-commit-${commit}.json`, await proofOf(commit));
    } catch (error) {
      problem.value = error;
    }
  };
  return html`<section class="sheet" aria-label="Checkpoints"><header><h2>Checkpoints</h2></header><${Loaded} of=${notes}>${({ items }) => {
    const last = items.at(-1);
    if (!last) return html`<${Empty} title="Nobody has signed this log yet">A signed checkpoint lets others detect a log that was cut or rewritten: <code>memoranda signer create NAME</code>, then <code>memoranda checkpoint</code>.<//>`;
    return html`<div class="pad stack"><dl class="pairs"><dt>Last one</dt><dd><${Time} at=${last.committed_at} /></dd><dt>Covers</dt><dd class="num">${plural(last.size, "commit")}${head.value > last.size ? html` <span class="quiet">(${head.value - last.size} since)</span>` : ""}</dd><dt>Root</dt><dd><${Mono} text=${last.root} /></dd><dt>Signed by</dt><dd>${last.signed_by.map((name) => html`<${Mono} text=${name} /> `)}</dd></dl>
      <div class="bar"><button onClick=${() => download(`checkpoint-${last.size}.note`, last.note, "text/plain")}>Download the checkpoint</button></div>
      <form class="bar end" onSubmit=${prove}><label>Prove that a commit is in the log<input name="commit" type="number" min="1" max=${last.size} required value=${last.size} /></label><button>Download the proof</button></form>
      ${problem.value && html`<${ProblemBox} problem=${problem.value} />`}
      <p class="quiet small">An auditor verifies it with <code>memoranda-verify inclusion FILE --key-file KEYS</code>, and needs nothing else from you.</p></div>`;
  }}<//></section>`;
}

/** Everything an outsider needs, in one file. */
function Evidence() {
  return html`<section class="sheet" aria-label="Evidence"><header><h2>Evidence for others</h2></header><div class="pad stack">
    <p>One file for an auditor who has no access: the last checkpoint, proofs that the log only grew over the last checkpoints, all certificates of erasure with proofs of their commits, and how to verify each. <em>Why</em> has the evidence on one key, memory or fact.</p>
    <${SaveEvidence} collect=${(onProgress) => evidenceOfLog(stats.value.log_id, onProgress)} /></div></section>`;
}

// The erasure desk.

const TARGETS = [
  { name: "entity", label: "A person or thing", field: "Its name in facts", isScoped: true },
  { name: "key", label: "A key", field: "The key", isScoped: true },
  { name: "memory_id", label: "A memory", field: "Its id" },
  { name: "transcript_id", label: "A conversation", field: "Its id", also: ["derived", "also what was derived from it"] },
  { name: "whole_agent", label: "A whole agent", field: "Its id", isWhole: true },
  { name: "whole_namespace", label: "A whole namespace", field: "Its name", isWhole: true, also: ["children", "also the namespaces below it"] },
];

function Desk({ onErased }) {
  const { erase: what = "entity" } = params.value;
  const target = useSignal(TARGETS.some(({ name }) => name === what) ? what : "entity");
  const value = useSignal(params.value.what ?? "");
  const plan = useSignal(null);
  const problem = useSignal(null);
  const isBusy = useSignal(false);
  const space = useSignal(params.value.space ?? namespace.value ?? namespaces.value.at(-1));
  const chosen = TARGETS.find(({ name }) => name === target.value);
  if (!canForget.value) return html`<section class="sheet"><header><h2>Erasure desk</h2></header><p class="pad quiet">Your token may not erase.</p></section>`;
  const attempt = async (work) => {
    isBusy.value = true;
    problem.value = null;
    try {
      await work();
    } catch (error) {
      problem.value = error;
    }
    isBusy.value = false;
  };
  const preview = (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const erasure = { [target.value]: value.value.trim(), reason: form.get("reason") || null };
    if (!chosen.isWhole) erasure.agent_id = agent.value;
    if (chosen.also && form.get("also") !== null) erasure[chosen.also[0]] = true;
    if (chosen.isScoped) erasure.namespace = space.value;
    attempt(async () => { plan.value = { erasure, ...(await ask("preview-erasure", { erasure: { call: "forget", ...erasure } })) }; });
  };
  const erase = () => attempt(async () => {
    const certificate = await ask("forget", plan.value.erasure);
    plan.value = null;
    onErased(certificate);
    await readStore();
  });
  return html`<section class="sheet" aria-label="Erasure desk"><header><h2>Erasure desk</h2><span class="quiet small">Content goes for good; a certificate stays. You see first what it would do.</span></header>
    <form class="pad desk" onSubmit=${preview} onInput=${() => { plan.value = null; }}>
      <label>Erase<select name="target" value=${target.value} onChange=${(event) => { target.value = event.target.value; }}>${TARGETS.map(({ name, label }) => html`<option value=${name}>${label}</option>`)}</select></label>
      <label class="grow">${chosen.field}<input name="value" required value=${value.value} onInput=${(event) => { value.value = event.target.value; }} /></label>
      ${chosen.isScoped && html`<label>Namespace<select name="space" value=${space.value} onChange=${(event) => { space.value = event.target.value; }}>${namespaces.value.map((name) => html`<option value=${name}>${plain(name)}</option>`)}</select></label>`}
      <label class="grow">Reason<input name="reason" placeholder="Such as: request of 18 November" /></label>
      ${chosen.also && html`<label class="row"><input type="checkbox" name="also" />${chosen.also[1]}</label>`}
      <button disabled=${isBusy.value}>Preview</button></form>
    ${problem.value && html`<div class="pad"><${ProblemBox} problem=${problem.value} /></div>`}
    ${plan.value && html`<${Plan} plan=${plan.value} isBusy=${isBusy.value} onErase=${erase} />`}</section>`;
}

function Plan({ plan, isBusy, onErase }) {
  const { by_type: kinds, resting, mentions, hidden_mentions: hidden } = plan.preview;
  return html`<div class="plan" role="status"><p><b>${plural(plan.operations, "operation")} in ${plural(plan.events, "event")}</b> would lose ${plan.operations === 1 ? "its" : "their"} content: ${Object.entries(kinds).map(([kind, count]) => `${count} × ${verbOf(kind)}`).join(", ")}.</p>
    ${resting.length > 0 && html`<div><h3>Would rest on nothing</h3><ul>${resting.map((name) => html`<li><${Mono} text=${name} /></li>`)}</ul></div>`}
    ${mentions.length > 0 && html`<details><summary>${plural(mentions.length, "other place")} ${mentions.length === 1 ? "mentions" : "mention"} the name, and ${mentions.length === 1 ? "is" : "are"} not erased by this</summary><ul>${mentions.map((name) => html`<li><${Mono} text=${name} /></li>`)}</ul></details>`}
    ${hidden > 0 && html`<p class="quiet">${hidden} more are not visible to you.</p>`}
    <div class="bar"><button class="danger" disabled=${isBusy} onClick=${onErase}>Erase for good</button><span class="quiet small">This cannot be undone.</span></div></div>`;
}

/** Certificates that are shown at first: the newest ones. */
const LATEST = 50;

function Certificates({ version }) {
  const isAll = useSignal(false);
  const erasures = useLoad((signal) => list("erasures", {}, { signal, limit: Infinity }), [version, arrival.value?.commit_ts]);
  const problem = useSignal(null);
  const save = async (certificate) => {
    problem.value = null;
    try {
      download(`erasure-${certificate.erasure_id}.json`, await read(`erasures/${part(certificate.erasure_id)}/proof`));
    } catch (error) {
      problem.value = error;
    }
  };
  const prove = async (certificate) => {
    problem.value = null;
    try {
      download(`proof-of-commit-${certificate.commit_ts}.json`, await proofOf(certificate.commit_ts));
    } catch (error) {
      problem.value = error;
    }
  };
  return html`<section class="sheet" aria-label="Certificates"><header><h2>Certificates of erasure</h2></header>
    ${problem.value && html`<div class="pad"><${ProblemBox} problem=${problem.value} /></div>`}
    <${Loaded} of=${erasures}>${({ items }) => (items.length ? html`<ul class="rows">${items.slice(isAll.value ? 0 : -LATEST).reverse().map((item) => html`<li class="certificate"><div><b>${item.target.replaceAll("_", " ")}</b> <span class="quiet small"><${Time} at=${item.committed_at} /> in commit <span class="num">${item.commit_ts}</span>, by ${seen(item.by)}</span>${item.reason && html`<br /><span class="words">${seen(item.reason)}</span>`}<br /><span class="quiet small">${plural(item.operations, "operation")} in ${plural(item.events, "event")}${item.pending_purge ? "; its bytes leave the files with the next purge" : ""}</span></div>
      <div class="bar"><button onClick=${() => save(item)}>Certificate</button><button onClick=${() => prove(item)}>Proof</button></div></li>`)}</ul>${!isAll.value && items.length > LATEST && html`<div class="pad"><button onClick=${() => { isAll.value = true; }}>Show all ${items.length.toLocaleString()}</button></div>`}<p class="pad quiet small">An auditor verifies a certificate with <code>memoranda-verify certificate FILE --key-file KEYS</code>; once a checkpoint covers it, nothing else is needed.</p>` : html`<${Empty} title="Nothing was erased">Every erasure leaves a certificate here.<//>`)}<//></section>`;
}
