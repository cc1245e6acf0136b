// What a view reads: the newest question wins, and the last answer stays until the next one is there.
import { useEffect, useRef, useState } from "preact/hooks";
import { html, seen } from "page/lib/html.js";

/** Read something whenever `keys` change. Return { data, problem, isLoading, again }. */
export function useLoad(work, keys) {
  const [state, setState] = useState({ data: undefined, problem: null, isLoading: true });
  const [turn, setTurn] = useState(0);
  const alive = useRef(null);
  useEffect(() => {
    const stop = new AbortController();
    alive.current = stop;
    setState((previous) => ({ ...previous, isLoading: true }));
    Promise.resolve(work(stop.signal)).then(
      (data) => stop.signal.aborted || setState({ data, problem: null, isLoading: false }),
      (problem) => stop.signal.aborted || setState({ data: undefined, problem, isLoading: false }),
    );
    return () => stop.abort();
  }, [...keys, turn]);
  return { ...state, again: () => setTurn((number) => number + 1) };
}

export const ProblemBox = ({ problem }) => html`<div class="problem" role="alert"><strong>${problem.title ?? "Something went wrong"}</strong><p>${seen(problem.message)}</p></div>`;

export const Empty = ({ title, children }) => html`<div class="empty"><strong>${title}</strong><p>${children}</p></div>`;

/** Show what was read, or why not. */
export function Loaded({ of, children }) {
  if (of.problem) return html`<${ProblemBox} problem=${of.problem} />`;
  if (of.data === undefined) return html`<p class="loading" aria-busy="true">Reading …</p>`;
  return children(of.data);
}
