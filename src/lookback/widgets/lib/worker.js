// @ts-check
// A widget's own script run a second time, in a worker, where long work does
// not hold up the page. `serve` is the worker's side, `helper` the page's.

/** What a worker can do: a name, and what answers it. `tell` reports progress.
 * @typedef {Record<string, (given: any, tell: (news: unknown) => void) => unknown>} Skills */

/** In the worker: answers what the page asks. In the page it does nothing.
 * @param {Skills} skills */
export function serve(skills) {
  if (typeof document !== "undefined" || typeof self === "undefined") return;
  self.onmessage = async ({ data: { id, name, given } }) => {
    try {
      const tell = (/** @type {unknown} */ news) => self.postMessage({ id, news });
      self.postMessage({ id, answer: await skills[name](given, tell) });
    } catch (error) {
      self.postMessage({ id, problem: error instanceof Error ? error.message : String(error) });
    }
  };
}

/** From disk browsers start no worker that is a module: the script without its exports.
 * @param {string} esm */
const classic = (esm) =>
  `"use strict";${esm.replace(/^export (default )?/gm, (_, named) => (named ? "const whole = " : ""))}`;

/** In the page: asks a worker that runs the script `esm`. It starts with the
 * first question, and anew with the next one after it died or was stopped.
 * @param {string} esm the widget's script: its trait `_esm` */
export function helper(esm) {
  /** @type {Worker | null} */
  let worker = null;
  let last = 0;
  /** @typedef {{resolve: (answer: any) => void, reject: (error: Error) => void,
   *   hear: (news: any) => void}} Waiting
   * @type {Map<number, Waiting>} */
  const waiting = new Map();

  /** @param {string} why */
  function stop(why = "it was stopped") {
    worker?.terminate();
    worker = null;
    const all = [...waiting.values()];
    waiting.clear();
    for (const { reject } of all) reject(new Error(why));
  }

  function start() {
    const url = URL.createObjectURL(new Blob([classic(esm)], { type: "text/javascript" }));
    const begun = new Worker(url);
    begun.onerror = ({ message }) => stop(message || "the worker died");
    begun.onmessage = ({ data }) => {
      const one = waiting.get(data.id);
      if ("news" in data) return one?.hear(data.news);
      waiting.delete(data.id);
      if ("problem" in data) one?.reject(new Error(data.problem));
      else one?.resolve(data.answer);
    };
    return begun;
  }

  return {
    stop,
    alive: () => worker !== null,
    /** @param {string} name @param {unknown} given @param {(news: any) => void} [hear]
     * @returns {Promise<any>} */
    ask(name, given, hear = () => {}) {
      worker ??= start();
      last += 1;
      const id = last;
      const answer = new Promise((resolve, reject) => waiting.set(id, { resolve, reject, hear }));
      worker.postMessage({ id, name, given });
      return answer;
    },
  };
}
