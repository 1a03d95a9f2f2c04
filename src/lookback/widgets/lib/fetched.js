// @ts-check
// Large files that a figure asks for when it is wanted: from the site, with
// progress, kept by the browser and checked; from disk, out of a script; in a
// notebook, from the kernel.

/** @typedef {{file: string, bytes: number, sha256: string}} Wanted */
/** @typedef {(share: number) => void} Hear how much of it is there, from 0 to 1 */

const KEPT = "lookback-weights";

/** What stands in a script as base64, as bytes. @param {string | ArrayBuffer} data */
export const plainBytes = (data) =>
  typeof data === "string"
    ? Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)).buffer
    : data;

/** Whether these are the bytes. Where a page is not secure the browser counts no
 * digest: there the length must do.
 * @param {ArrayBuffer} data @param {Wanted} wanted */
export async function right(data, { bytes, sha256 }) {
  if (data.byteLength !== bytes) return false;
  if (!globalThis.crypto?.subtle) return true;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("") === sha256;
}

/** A store of the browser's, or null where it has none for this page. */
async function store() {
  try {
    return await caches.open(KEPT);
  } catch {
    return null;
  }
}

/** @param {string} url @param {Wanted} wanted @param {Hear} hear @returns {Promise<ArrayBuffer>} */
async function fromSite(url, wanted, hear) {
  const kept = await store();
  const known = await (await kept?.match(url))?.arrayBuffer();
  if (known && (await right(known, wanted))) return known;
  const response = await fetch(url, { cache: "no-cache" }).catch(() => null);
  if (!response?.ok || !response.body) {
    const why = response ? `the site answered ${response.status}` : "the site cannot be reached";
    throw new Error(`The weights cannot be had: ${why}. Try again when you are online.`);
  }
  const data = new Uint8Array(wanted.bytes);
  let at = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if (at + value.length > data.length) break;
    data.set(value, at);
    at += value.length;
    hear(at / data.length);
  }
  if (at !== data.length || !(await right(data.buffer, wanted))) {
    throw new Error(
      "The weights came damaged: their digest is not the one that this page knows. Try again.",
    );
  }
  for (const old of (await kept?.keys()) ?? []) {
    const name = old.url.slice(old.url.lastIndexOf("/")).split(".")[0];
    if (url.includes(`${name}.`)) await kept?.delete(old);
  }
  await kept?.put(url, new Response(data)).catch(() => {});
  return data.buffer;
}

/** @param {string} url @param {string} file @returns {Promise<string>} in base64 */
const fromScript = (url, file) =>
  new Promise((resolve, reject) => {
    const node = document.createElement("script");
    node.onload = () => {
      node.remove();
      resolve(/** @type {any} */ (self).lookbackCame[file]);
    };
    node.onerror = () => reject(new Error(`The weights cannot be read: ${url} is missing.`));
    node.src = url;
    document.head.append(node);
  });

/** What the file holds, for `plainBytes` and `right`.
 * @param {any} model any: the book's page has `files`, a notebook's model has not
 * @param {Wanted} wanted @param {Hear} hear @returns {Promise<string | ArrayBuffer>} */
export function fetched(model, wanted, hear) {
  if (!model.files) return fromKernel(model, wanted);
  const url = `${model.files}${wanted.file}`;
  return location.protocol === "file:"
    ? fromScript(`${url}.js`, wanted.file)
    : fromSite(`${url}.weights`, wanted, hear);
}

/** @param {any} model @param {Wanted} wanted @returns {Promise<ArrayBuffer>} */
const fromKernel = (model, { file }) =>
  new Promise((resolve) => {
    const react = (/** @type {{file: string}} */ said, /** @type {DataView[]} */ [data]) => {
      if (said.file !== file) return;
      model.off("msg:custom", react);
      resolve(new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice().buffer);
    };
    model.on("msg:custom", react);
    model.send({ want: file });
  });
