// @ts-check
// How large a cache of keys and values is: 2 · layers · kv_heads · d_k ·
// length · bytes, for a model of the reader's choice. With a window no more
// tokens are kept than fit into it.

import limits from "./cache_size.json" with { type: "json" };
import { among, integer } from "./lib/link.js";
import { digits, grouped, readWhole } from "./lib/text.js";
import { bar, change, element, field, root, select, show, voice, widget } from "./lib/view.js";

/** @typedef {{layers: number, heads: number, kv_heads: number, d_k: number, length: number,
 *   window: number, bytes: number}} State */

const MODELS = /** @type {Record<string, number[]>} */ (limits.models);
const SIZES = /** @type {const} */ (["layers", "heads", "kv_heads", "d_k", "length", "window"]);
const MOST = {
  layers: limits.layers,
  heads: limits.heads,
  kv_heads: limits.heads,
  d_k: limits.d_k,
  length: limits.length,
  window: limits.window,
};
const SPOKEN = {
  layers: "layers",
  heads: "heads",
  kv_heads: "KV heads (keys and values)",
  d_k: "numbers in a key, d_k",
  length: "tokens so far",
  window: "window in tokens, 0 for none",
};

/** Bytes of one token; of all that are kept; of all that were read.
 * @param {State} state */
export function bytesOf({ layers, kv_heads, d_k, length, window, bytes }) {
  const token = 2 * layers * kv_heads * d_k * bytes;
  const kept = window ? Math.min(length, window) : length;
  return { token, whole: token * kept, all: token * length };
}

/** Bytes in a unit that can be read. @param {number} n */
export function readable(n) {
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  const power = Math.min(5, Math.floor(Math.log10(Math.max(1, n)) / 3));
  const value = n / 1000 ** power;
  return `${power ? digits(value, value < 10 ? 2 : value < 100 ? 1 : 0) : grouped(n)} ${units[power]}`;
}

/** The sum, with its numbers. @param {State} state */
export function sentence(state) {
  const { layers, heads, kv_heads, d_k, length, window, bytes } = state;
  const { token, whole, all } = bytesOf(state);
  const kept =
    whole < all
      ? `, since the window keeps the last ${grouped(window)}; without it ${readable(all)}`
      : "";
  const shared =
    kv_heads < heads
      ? ` With keys and values for all ${heads} heads it would be ${readable((whole * heads) / kv_heads)}.`
      : "";
  return (
    `2 · ${layers} layers · ${kv_heads} heads · ${d_k} numbers · ${bytes} ` +
    `byte${bytes > 1 ? "s" : ""} = ${readable(token)} for each token; for ${grouped(length)} ` +
    `tokens ${readable(whole)}${kept}.${shared}`
  );
}

/** What is wrong with the sizes; "" if nothing is.
 * @param {Pick<State, "heads" | "kv_heads">} state */
export const wrong = ({ heads, kv_heads }) =>
  heads % kv_heads
    ? `${heads} heads cannot share ${kv_heads} sets of keys and values equally.`
    : "";

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const { say, problem, complain, set } = voice(model);
  const preset = select(
    "model",
    [
      ["", "your own"],
      ...Object.keys(MODELS).map((one) => /** @type {[string, string]} */ ([one, one])),
    ],
    (name) => {
      const sizes = MODELS[name];
      if (!sizes) return;
      const [layers, heads, kv_heads, d_k, window] = sizes;
      set({ layers, heads, kv_heads, d_k, window });
    },
  );
  const fields = SIZES.map((name) => {
    const box = field(name, { inputmode: "numeric", size: 9 }, (text) => {
      const x = readWhole(text);
      const least = name === "window" ? 0 : 1;
      if (!(x >= least && x <= MOST[name])) {
        return complain(
          `${SPOKEN[name]}: give a whole number from ${least} to ${grouped(MOST[name])}.`,
        );
      }
      const fault = wrong({ ...read(), [name]: x });
      if (fault) return complain(fault);
      complain("");
      change(model, { [name]: x });
    });
    return { name, box, node: element("label", {}, box, SPOKEN[name]) };
  });
  const kinds = select(
    "bytes",
    limits.bytes.map((n) => [n, `${n} byte${n > 1 ? "s" : ""} a number`]),
    (x) => set({ bytes: Number(x) }),
  );
  const token = element("b", { "data-role": "token" });
  const total = element("b", { "data-role": "whole" });
  const node = root(
    "cache-size",
    "How large is the cache?",
    bar(element("label", {}, "model ", preset), element("label", {}, "precision ", kinds)),
    element("div", { class: "sizes" }, ...fields.map((one) => one.node)),
    problem,
    element(
      "div",
      { class: "sum" },
      element("p", {}, "one token: ", token),
      element("p", {}, "the whole cache: ", total),
    ),
    say,
  );
  return {
    node,
    draw() {
      const state = read();
      const own = [state.layers, state.heads, state.kv_heads, state.d_k, state.window];
      const known = Object.entries(MODELS).find(([, one]) => one.every((x, i) => x === own[i]));
      preset.value = known ? known[0] : "";
      for (const { name, box } of fields) box.value = grouped(state[name]);
      kinds.value = String(state.bytes);
      const now = bytesOf(state);
      show(token, now.token, readable(now.token));
      show(total, now.whole, readable(now.whole));
      say.textContent = sentence(state);
    },
  };
}

export default widget([], [...SIZES, "bytes"], build, {
  layers: integer(1, MOST.layers),
  heads: (x, state) => integer(1, MOST.heads)(x, null) && x % state.kv_heads === 0,
  kv_heads: integer(1, MOST.kv_heads),
  d_k: integer(1, MOST.d_k),
  length: integer(1, MOST.length),
  window: integer(0, MOST.window),
  bytes: among(limits.bytes),
});
