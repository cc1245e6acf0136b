// The button that collects evidence into one file, and says how far it is.
import { useSignal } from "@preact/signals";
import { download } from "page/lib/api.js";
import { html, plural } from "page/lib/html.js";
import { ProblemBox } from "page/lib/load.js";

/** `collect` returns the bytes of the archive; it is given what to tell the number of files so far. */
export function SaveEvidence({ collect, children, ...rest }) {
  const collected = useSignal(null);
  const problem = useSignal(null);
  const save = async () => {
    collected.value = 0;
    problem.value = null;
    try {
      download("evidence.zip", await collect((files) => { collected.value = files; }), "application/zip");
    } catch (error) {
      problem.value = error;
    }
    collected.value = null;
  };
  const label = collected.value === null ? "Download the evidence" : collected.value ? `Collected ${plural(collected.value, "file")} …` : "Collecting …";
  return html`<div class="bar ${rest.class ?? ""}"><button disabled=${collected.value !== null} onClick=${save} title=${rest.title}>${label}</button>${children}</div>${problem.value && html`<${ProblemBox} problem=${problem.value} />`}`;
}
