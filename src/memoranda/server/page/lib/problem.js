/** An error, for people: what happened, and what to do. */
export class Problem extends Error {
  constructor(status, members) {
    super(members.detail ?? "The server gave no reason.");
    this.status = status;
    this.title = members.title ?? `Status ${status}`;
    this.kind = members.error ?? null;
  }
}

export const unreachable = () => new Problem(0, { title: "The server does not answer", detail: "Is it still running? Start it again, and reload this page." });
