// Sign in: a token is exchanged for a session once, and kept nowhere.
import { useSignal } from "@preact/signals";
import { request } from "page/lib/api.js";
import { html } from "page/lib/html.js";
import { ProblemBox } from "page/lib/load.js";
import { boot } from "page/lib/store.js";

export function SignIn() {
  const problem = useSignal(null);
  const submit = async (event) => {
    event.preventDefault();
    const token = new FormData(event.currentTarget).get("token").trim();
    try {
      await request("POST", "/session", { body: { token } });
      await boot();
    } catch (error) {
      problem.value = error;
    }
  };
  return html`<main class="sign-in"><form class="sheet" onSubmit=${submit}>
    <img src="/page/icon.svg" alt="" width="40" height="40" />
    <h1>Memoranda</h1>
    <p>This server asks for a token. It stays in this form: the browser gets a session that no script can read.</p>
    <label>Token <input name="token" type="password" autocomplete="current-password" required autofocus /></label>
    ${problem.value && (problem.value.status === 401 ? html`<div class="problem" role="alert"><strong>That token does not open anything</strong><p>The server does not know it, or it has expired. Whoever runs the server makes a new one: <code>memoranda token create</code></p></div>` : html`<${ProblemBox} problem=${problem.value} />`)}
    <button class="primary">Sign in</button>
  </form></main>`;
}
