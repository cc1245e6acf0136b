// A stored conversation as turns, with the quoted words marked.
const SPEAKER = /^(?:\[([^\]\n]{4,40})\]\s*)?([^\s:][^:\n]{0,39}):\s/;

/** Return turns of [{ who, when, parts: [{ text, isQuoted }] }]; spans are bytes of the text. */
export function toTurns(bytes, spans, excerpts) {
  const text = new TextDecoder().decode(bytes);
  const messages = asMessages(text);
  if (messages) {
    const turns = messageTurns(messages, spans);
    if (turns.some(({ parts }) => parts.some(({ isQuoted }) => isQuoted))) return turns;
    return messages.map((turn) => ({ ...turn, parts: markWords(turn.text, excerpts) }));
  }
  return textTurns(text, spans.map(([from, to]) => [offsetOf(bytes, from), offsetOf(bytes, to)]));
}

const offsetOf = (bytes, byte) => new TextDecoder().decode(bytes.subarray(0, byte)).length;

/** Return the turns of messages that were stored as JSON; null if the content is a text. */
function asMessages(text) {
  if (!text.startsWith("[{")) return null;
  try {
    return JSON.parse(text).map((message) => ({
      who: String(message.speaker ?? message.name ?? message.role ?? message.author ?? message.type ?? ""),
      when: message.time ?? message.timestamp ?? null,
      text: wordsOf(message.content ?? message.text ?? message.output ?? message.arguments ?? ""),
    }));
  } catch {
    return null;
  }
}

/** Mark the spans in messages. Spans are bytes of their text: `who: words`, with later lines indented by two. */
function messageTurns(messages, spans) {
  const size = (text) => new TextEncoder().encode(text).length;
  let start = 0;
  return messages.map((turn) => {
    let lineStart = start + size(`${turn.who}: `);
    const parts = turn.text.split("\n").flatMap((line, index) => {
      const bytes = new TextEncoder().encode(line);
      const own = spans.map((span) => span.map((byte) => offsetOf(bytes, Math.max(0, Math.min(bytes.length, byte - lineStart)))));
      lineStart += bytes.length + 3;
      return [...(index ? [{ text: "\n", isQuoted: false }] : []), ...cut(line, 0, own.filter(([from, to]) => from < to))];
    });
    start = lineStart - 2;
    return { ...turn, parts };
  });
}

function wordsOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return JSON.stringify(content);
  return content.map((piece) => (typeof piece === "string" ? piece : piece.text ?? piece.content ?? JSON.stringify(piece))).map((piece) => (typeof piece === "string" ? piece : wordsOf(piece))).join("\n");
}

/** Cut a text at its lines that begin with a speaker. */
function textTurns(text, spans) {
  const turns = [];
  let offset = 0;
  for (const line of text.split(/(?<=\n)/)) {
    const match = SPEAKER.exec(line);
    const skipped = match ? match[0].length : 0;
    if (match || !turns.length) turns.push({ who: match?.[2] ?? "", when: match?.[1] ?? null, parts: [] });
    turns.at(-1).parts.push(...cut(line.slice(skipped), offset + skipped, spans));
    offset += line.length;
  }
  for (const turn of turns) {
    const last = turn.parts.at(-1);
    if (last) last.text = last.text.replace(/\n$/, "");
  }
  return turns;
}

function cut(text, offset, spans) {
  const edges = new Set([0, text.length]);
  for (const [from, to] of spans) for (const edge of [from - offset, to - offset]) if (edge > 0 && edge < text.length) edges.add(edge);
  const sorted = [...edges].sort((one, other) => one - other);
  return sorted.slice(0, -1).map((from, index) => ({ text: text.slice(from, sorted[index + 1]), isQuoted: spans.some(([start, end]) => start <= offset + from && offset + sorted[index + 1] <= end) }));
}

function markWords(text, excerpts) {
  const spans = excerpts.map((words) => [text.indexOf(words), words.length]).filter(([from]) => from >= 0).map(([from, length]) => [from, from + length]);
  return cut(text, 0, spans);
}
