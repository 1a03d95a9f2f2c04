// @ts-check
// The trained machines of a figure: fetched with progress when they are wanted,
// and woken in a worker. `loaded` is the worker's side, `waking` the page's.
import { fetched, plainBytes, right } from "./fetched.js";
import { inflate, readMachine } from "./int8.js";
import { helper } from "./worker.js";

/** @typedef {import("./fetched.js").Wanted & {title: string}} Known of a machine, to a page */
/** @typedef {{name: string, data: string | ArrayBuffer, wanted: Known}} Brought what `wake` gets */

/** A machine from what the page brought. @param {Brought} given */
export async function loaded({ data, wanted }) {
  const file = plainBytes(data);
  if (!(await right(file, wanted))) {
    throw new Error("The weights are damaged: their digest is not the one this page knows.");
  }
  return readMachine(await inflate(file));
}

/** Megabytes, in words. @param {number} bytes */
export const size = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** Fetches and wakes each machine once, and asks them; what failed can be tried again.
 * @param {import("./view.js").Model<any>} model any: all their widgets' have `machines`
 * @param {(text: string, share?: number) => void} report */
export function waking(model, report) {
  const worker = helper(model.get("_esm"));
  /** @type {Map<string, Promise<any>>} any: what the worker's `wake` answers */
  const awake = new Map();
  /** @param {string} name */
  async function rouse(name) {
    /** @type {Known} */
    const wanted = model.get("machines")[name];
    const what = `The weights of the ${wanted.title}, ${size(wanted.bytes)}: `;
    report(`${what}asked for.`, 0);
    try {
      const data = await fetched(model, wanted, (part) =>
        report(`${what}${Math.round(100 * part)}%.`, part),
      );
      return await worker.ask("wake", { name, data, wanted });
    } catch (error) {
      awake.delete(name);
      throw error;
    } finally {
      report("");
    }
  }
  return {
    stop: () => worker.stop(),
    /** Whether it was asked for. @param {string} name */
    wanted: (name) => awake.has(name),
    /** What the worker says of it, once it is awake. @param {string} name */
    wake(name) {
      const coming = awake.get(name) ?? rouse(name);
      awake.set(name, coming);
      return coming;
    },
    /** @param {string} skill @param {object} given @returns {Promise<any>} any: as SKILLS says */
    async ask(skill, given) {
      try {
        return await worker.ask(skill, given);
      } catch (error) {
        if (!worker.alive()) awake.clear();
        throw error;
      }
    },
  };
}
