// Files in one: a ZIP archive whose files are stored as they are.
import { Problem } from "page/lib/problem.js";

const CRCS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});

/** Return the CRC-32 of bytes. */
function crcOf(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = CRCS[(crc ^ byte) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** The flag that says that names are UTF-8, and the first day that the format knows. */
const [UTF_8, DAY] = [0x0800, 0x0021];

/** Return integers as bytes, the lowest first; each is given as [its size, its value]. */
function pack(...fields) {
  const bytes = new Uint8Array(fields.reduce((sum, [size]) => sum + size, 0));
  const view = new DataView(bytes.buffer);
  let place = 0;
  for (const [size, value] of fields) {
    if (size === 4) view.setUint32(place, value, true);
    else view.setUint16(place, value, true);
    place += size;
  }
  return bytes;
}

/** Files that an archive of this format can count. */
const MAX_FILES = 0xffff;

/** Return an archive of files, each [its name, its text or bytes]. */
export function zip(files) {
  if (files.length > MAX_FILES) throw new Problem(0, { title: "Too much for one archive", detail: `It would have ${files.length.toLocaleString()} files, and can have ${MAX_FILES.toLocaleString()}. The commands memoranda prove and memoranda prove-erasure write them one by one.` });
  const [parts, entries] = [[], []];
  let place = 0;
  for (const [name, content] of files) {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const title = new TextEncoder().encode(name);
    const common = [[2, 20], [2, UTF_8], [2, 0], [2, 0], [2, DAY], [4, crcOf(bytes)], [4, bytes.length], [4, bytes.length], [2, title.length], [2, 0]];
    const header = pack([4, 0x04034b50], ...common);
    parts.push(header, title, bytes);
    entries.push(pack([4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, place]), title);
    place += header.length + title.length + bytes.length;
  }
  const size = entries.reduce((sum, { length }) => sum + length, 0);
  const end = pack([4, 0x06054b50], [2, 0], [2, 0], [2, files.length], [2, files.length], [4, size], [4, place], [2, 0]);
  return join([...parts, ...entries, end]);
}

function join(parts) {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let place = 0;
  for (const part of parts) {
    bytes.set(part, place);
    place += part.length;
  }
  return bytes;
}
