// Evidence for others: proofs, checkpoints, certificates and what they are about, as files of an archive.
import { ask, list, part, read } from "page/lib/api.js";
import { zip } from "page/lib/zip.js";

/** Checkpoints whose growth from one to the next is proven: the last ones. */
const GROWTHS = 20;

const toHex = (base64) => Array.from(atob(base64), (character) => character.charCodeAt(0).toString(16).padStart(2, "0")).join("");
const toText = (value) => JSON.stringify(value, null, 2) + "\n";

/** Return an inclusion proof as `memoranda-verify inclusion` reads it. */
export async function proofOf(commit) {
  const proof = await read(`commits/${part(commit)}/proof`);
  return { type: "recollect.inclusion-proof", version: 1, commit_ts: proof.commit_ts, event_hash: proof.event_hash, path: proof.path.map(toHex), checkpoint: proof.checkpoint };
}

/** Return a consistency proof as `memoranda-verify consistency` reads it. */
async function growthOf(old, next) {
  const proof = await ask("prove-growth", { old, new: next });
  return { type: "recollect.consistency-proof", version: 1, path: proof.path.map(toHex), old_checkpoint: proof.old_checkpoint, new_checkpoint: proof.new_checkpoint };
}

/** However many there are. */
const ALL = { limit: Infinity };

const noneIfForbidden = (problem) => {
  if (problem.status === 403 || problem.status === 404) return { items: [] };
  throw problem;
};

/** Read a file for each item; `onFile` is told how many files there are so far. */
async function fetchFiles(items, toFile, onFile) {
  const files = [];
  for (const item of items) {
    files.push(await toFile(item));
    onFile();
  }
  return files;
}

const counting = (onProgress) => {
  let count = 0;
  return () => onProgress((count += 1));
};

/** Return the files that are about commits: the last checkpoint, and a proof of each commit that it covers. */
async function proofsOf(commits, onFile) {
  const { items: notes } = await list("checkpoints", {}, ALL).catch(noneIfForbidden);
  const last = notes.at(-1);
  if (!last) return { notes, files: [] };
  const covered = [...new Set(commits)].filter((commit) => commit <= last.size).sort((one, other) => one - other);
  const proofs = await fetchFiles(covered, async (commit) => [`proofs/commit-${commit}.json`, toText(await proofOf(commit))], onFile);
  return { notes, files: [["checkpoint.note", last.note], ...proofs] };
}

/** Return the evidence on a log: how it grew, and what was erased from it; `onProgress` is told the number of its files so far. */
export async function evidenceOfLog(logId, onProgress) {
  const onFile = counting(onProgress);
  const { items: erasures } = await list("erasures", {}, ALL);
  const { notes, files } = await proofsOf(erasures.map(({ commit_ts: commit }) => commit), onFile);
  const certificates = await fetchFiles(erasures, async ({ erasure_id: id }) => [`certificates/${id}.json`, toText(await read(`erasures/${part(id)}/proof`))], onFile);
  const late = notes.slice(-GROWTHS - 1).map(({ size }) => size);
  const steps = late.slice(1).map((size, index) => [late[index], size]);
  const growth = await fetchFiles(steps, async ([old, next]) => [`growth/${old}-to-${next}.json`, toText(await growthOf(old, next))], onFile);
  return bundle(`Evidence on the log ${logId ?? ""}`, [...files, ...certificates, ...growth]);
}

/** Return the evidence on one thing: what it rests on, the conversations that are quoted, and proofs of their commits. */
export async function evidenceOf(title, nodes, onProgress) {
  const onFile = counting(onProgress);
  const { files } = await proofsOf(nodes.map(({ commit_ts: commit }) => commit).filter(Boolean), onFile);
  const quoted = new Set(nodes.filter(({ kind, ref, hidden }) => kind === "transcript" && ref && !hidden).map(({ ref }) => ref.transcript_id));
  const talks = await fetchFiles(quoted, async (id) => [`conversations/${id}.txt`, await read(`transcripts/${part(id)}/content`, {}, { asBytes: true })], onFile);
  return bundle(`Evidence on ${title}`, [["why.json", toText(nodes)], ...files, ...talks]);
}

const CONTENTS = [
  ["why.json", "what it rests on, as the store explained it"],
  ["conversations/", "the conversations that are quoted, as they were stored"],
  ["checkpoint.note", "the last checkpoint, signed: memoranda-verify checkpoint checkpoint.note --key-file KEYS"],
  ["proofs/", "proofs that commits are in the log of that checkpoint: memoranda-verify inclusion FILE --key-file KEYS"],
  ["growth/", `proofs that the log only grew over its last checkpoints (${GROWTHS} steps at most): memoranda-verify consistency FILE --key-file KEYS`],
  ["certificates/", "certificates of erasure: memoranda-verify certificate FILE --key-file KEYS"],
];

function bundle(title, files) {
  const lines = CONTENTS.filter(([name]) => files.some(([file]) => file.startsWith(name))).map(([name, text]) => `  ${name.padEnd(16)} ${text}`);
  const isSigned = files.some(([name]) => name === "checkpoint.note");
  const closing = isSigned ? "KEYS is a file with the public keys of the signers. Take them from a source that you trust, not from whoever sent this." : "The log has no signed checkpoint yet, or the token that made this may not read it: so nothing here is proven to others.";
  return zip([["README.txt", `${title}\n${new Date().toISOString()}\n\n${lines.join("\n")}\n\n${closing}\n`], ...files]);
}
