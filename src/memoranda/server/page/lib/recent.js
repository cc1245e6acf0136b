// A few answers about the past, which does not change: what was just looked at, and what comes next.
const LIMIT = 40;

export class Recent {
  #answers = new Map();

  /** Return the answer of a name, or read it; a reading that is not wanted any more is not kept. */
  get(name, work, signal) {
    const known = this.#answers.get(name);
    if (!known) return work(signal).then((answer) => this.#keep(name, Promise.resolve(answer)));
    return this.#keep(name, known);
  }

  /** Read an answer that is probably asked for next. */
  warm(name, work) {
    if (this.#answers.has(name)) return;
    this.#keep(name, work()).catch(() => this.#answers.delete(name));
  }

  clear() {
    this.#answers.clear();
  }

  #keep(name, answer) {
    this.#answers.delete(name);
    this.#answers.set(name, answer);
    if (this.#answers.size > LIMIT) this.#answers.delete(this.#answers.keys().next().value);
    return answer;
  }
}
