// @ts-check
// What the widgets share that ask a trained GPT or BERT about a caption that
// the reader types: its line, news of what is fetched, and rows of words.
import { asking, shown, strangers } from "./bodies.js";
import { share } from "./lib/text.js";
import { bar, button, element, field, tune } from "./lib/view.js";

/** The words of a machine, and their numbers.
 * @typedef {{pieces: string[], index: Map<string, number>}} Mind */

/** What went wrong, in words. @param {unknown} error */
export const reason = (error) => (error instanceof Error ? error.message : String(error));

/** Fetches the machines and asks them; `news` tells how far it has come.
 * @param {import("./lib/view.js").Model<any>} model any: all their widgets' */
export function fetching(model) {
  const said = element("p", { class: "news", "data-role": "news", role: "status" });
  const progress = element("progress", { max: 1, value: 0, hidden: true, "aria-label": "fetched" });
  const ask = asking(model, (text, part) => {
    said.textContent = text;
    progress.hidden = part === undefined;
    progress.value = part ?? 0;
  });
  return {
    ask,
    news: [said, progress],
    /** Wakes a machine. @param {string} name @returns {Promise<Mind>} */
    async wake(name) {
      const pieces = await ask.words(name);
      return { pieces, index: new Map(pieces.map((word, id) => [word, id])) };
    },
  };
}

/** The words that a machine has never read, quoted; "" if it knows them all.
 * @param {string[]} typed @param {Mind} mind */
export const unknown = (typed, { index }) =>
  strangers(typed, index)
    .map((word) => `“${word}”`)
    .join(", ");

/** The line where a caption is typed, and taken up by Enter or the button.
 * @param {string} label @param {(text: string) => unknown} take */
export function typing(label, take) {
  const box = field("text", { lang: "en", spellcheck: "false", size: 24 }, () => {});
  box.onkeydown = (event) => {
    if (event.key === "Enter") take(box.value);
  };
  const start = button("begin", "", () => take(box.value));
  let laid = "";
  return {
    box,
    start,
    line: bar(element("label", { class: "typed" }, label, box), start),
    /** Shows the state's caption, unless another is being typed. @param {string} text */
    follow(text) {
      if (box.value === laid || text !== laid) box.value = text;
      laid = text;
    },
  };
}

/** A word with its probability and its bars, as a button.
 * @param {number} id @param {string} piece @param {number} p
 * @param {Record<string, number>} lengths of the bars @param {() => void} chosen */
export function wordRow(id, piece, p, lengths, chosen) {
  const row = button("word", "", chosen);
  Object.assign(row.dataset, { id: String(id), value: String(p) });
  const bars = element("span", { class: "bars", "aria-hidden": "true" });
  for (const [name, length] of Object.entries(lengths)) tune(bars, name, length);
  row.append(element("span", {}, shown(piece)), bars, share(p));
  return row;
}
