// @ts-check
// Which word decides? A trained BERT reads a caption in the page; a probe says at
// each of its levels which sense a word has, with words covered or not.
// Python: which_word.py.
import { HOLE, SKILLS, tokensOf, typedWords } from "./bodies.js";
import { fetching, reason, typing, unknown } from "./caption.js";
import { integer, series } from "./lib/link.js";
import { dot } from "./lib/maths.js";
import { sigmoid } from "./lib/recurrent.js";
import { digits, quoted } from "./lib/text.js";
import {
  bar,
  button,
  change,
  element,
  grey,
  press,
  root,
  scroller,
  select,
  show,
  tableButton,
  tableOf,
  voice,
  widget,
} from "./lib/view.js";
import { size } from "./lib/waking.js";
import { serve } from "./lib/worker.js";
import { readable } from "./moses_tokenizer.js";
import limits from "./which_word.json" with { type: "json" };

/** @typedef {Record<string, {senses: [string, string], levels: number[][]}>} Probes [w; b] of
 *   each level */
/** @typedef {{machines: Record<string, import("./bodies.js").Known>, probes: Probes,
 *   texts: string[], text: string, covered: number[], level: number}} State */
/** @typedef {{leans: number[], without: number[][]}} Found of each level, as it is, and with
 *   each word covered as well */

serve(SKILLS);

/** σ(w · x + b), level by level.
 * @param {ArrayLike<number>[]} levels @param {number[][]} probes [w; b] */
export const leans = (levels, probes) =>
  levels.map((x, i) => sigmoid(dot(x, probes[i]) + probes[i][x.length]));

/** The first word that has probes, and its place. @param {string[]} typed @param {Probes} probes */
export function target(typed, probes) {
  const at = typed.findIndex((word) => word in probes);
  return { at, word: typed[at] };
}

/** What is read: the caption with its blanks, then with each word covered too.
 * @param {string[]} typed @param {number[]} covered @param {number} at the word that is asked for
 * @param {Map<string, number>} index */
export function questions(typed, covered, at, index) {
  /** @param {number[]} gone */
  const row = (gone) =>
    tokensOf(
      typed.map((word, i) => (gone.includes(i) && i !== at ? HOLE : word)),
      index,
      true,
    );
  return [row(covered), ...typed.map((_, i) => row([...covered, i]))];
}

/** The likelier sense, and its probability: “device”, 0.93.
 * @param {number} p of the second sense @param {string[]} senses @param {string} [called] */
export const prediction = (p, senses, called = "") =>
  `“${senses[p > 0.5 ? 1 : 0]}”, ${called}${digits(Math.max(p, 1 - p))}`;

/** The word whose covering moves the log-odds of the senses most, or −1.
 * @param {Found} found @param {number} level @param {number[]} covered @param {number} at */
export function decisive({ leans, without }, level, covered, at) {
  /** @param {number} p */
  const odds = (p) => Math.log(p / (1 - p));
  const moved = without.map((row, i) =>
    i === at || covered.includes(i) ? -1 : Math.abs(odds(row[level]) - odds(leans[level])),
  );
  return moved.some((one) => one > 0) ? moved.indexOf(Math.max(...moved)) : -1;
}

/** The state in words.
 * @param {string[]} typed @param {Found} found @param {State} state */
export function sentence(typed, found, { probes, covered, level }) {
  const { at, word } = target(typed, probes);
  const { senses } = probes[word];
  const best = decisive(found, level, covered, at);
  const start = `Layer ${level} says ${prediction(found.leans[level], senses, "probability ")}.`;
  if (best < 0) return start;
  const then = prediction(found.without[best][level], senses);
  return `${start} What counts most is ${quoted(typed.map(readable), best)}: without it, ${then}.`;
}

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const { say, problem, complain } = voice(model);
  const probes = model.get("probes");
  const { ask, news, wake } = fetching(model);
  /** @type {import("./caption.js").Mind | null} */
  let mind = null;
  /** @type {{key: string, found: Found} | null} */
  let came = null;
  let wanted = "";
  /** @param {State} state */
  const keyOf = ({ text, covered }) => JSON.stringify([text, covered]);

  /** @param {unknown} error */
  const fail = (error) => {
    wanted = "";
    node.removeAttribute("aria-busy");
    complain(reason(error));
  };

  /** Reads the caption, as it is and with each word covered. */
  async function attend() {
    const state = read();
    const key = keyOf(state);
    const typed = typedWords(state.text);
    const { at, word } = target(typed, probes);
    if (!mind || key === wanted || key === came?.key) return;
    wanted = key;
    node.setAttribute("aria-busy", "true");
    try {
      const all = questions(typed, state.covered, at, mind.index);
      const [own, ...others] = await ask.levels({ name: "probing", all, at: at + 1 });
      if (wanted !== key) return;
      const { levels } = probes[word];
      came = {
        key,
        found: { leans: leans(own, levels), without: others.map((x) => leans(x, levels)) },
      };
      wanted = "";
      node.removeAttribute("aria-busy");
      draw();
    } catch (error) {
      mind = null;
      fail(error);
      draw();
    }
  }

  /** Takes up a caption, if it can be read. @param {string} text */
  async function take(text) {
    complain("");
    const typed = typedWords(text);
    if (text.length > limits.letters || typed.length > limits.words) {
      return complain(`At most ${limits.words} words, please: captions are short.`);
    }
    if (target(typed, probes).at < 0) {
      return complain(`Type a caption with one of these words: ${Object.keys(probes).join(", ")}.`);
    }
    try {
      mind = await wake("probing");
    } catch (error) {
      return fail(error);
    }
    const odd = unknown(typed, mind);
    if (odd) complain(`The BERT does not know ${odd}: it reads <unk>.`);
    if (text === read().text) draw();
    else change(model, { text, covered: [] });
  }

  const texts = model.get("texts");
  const choice = select(
    "sentence",
    [["", "your own"], ...texts.map((one) => [one, one])].map(
      ([value, text]) => /** @type {[string, string]} */ ([value, text]),
    ),
    (text) => {
      if (text) take(text);
      else box.focus();
    },
  );
  const { box, start, line, follow } = typing("or ", take);
  const clear = button("clear", "Uncover all", () => change(model, { covered: [] }));
  const row = element("div", {
    class: "caption",
    role: "group",
    lang: "en",
    "aria-label": "the caption: choose a word to cover it",
  });
  const ends = element("div", { class: "ends", "aria-hidden": "true" });
  const scale = element("div", {
    class: "levels",
    role: "group",
    "aria-label": "what the probe of each layer says: choose a layer",
  });
  const table = scroller("each word covered in turn", { hidden: true });
  const inner = element("div", {}, row, ends, scale);
  const figure = element("div", { class: "figure", hidden: true }, say, inner, table);
  const node = root(
    "which-word",
    "Which word decides?",
    element("label", { class: "choose" }, "Caption ", choice),
    line,
    problem,
    ...news,
    bar(clear, tableButton(inner, table)),
    figure,
  );

  /** Covers a word or uncovers it. @param {number} i */
  function turn(i) {
    const { covered } = read();
    const kept = covered.filter((one) => one !== i);
    const next = kept.length < covered.length ? kept : [...covered, i].sort((a, b) => a - b);
    change(model, { covered: next });
  }

  function draw() {
    const state = read();
    follow(state.text);
    choice.value = texts.includes(state.text) ? state.text : "";
    start.textContent = mind ? "Read it" : `Load the BERT (${size(state.machines.probing.bytes)})`;
    grey(clear, state.covered.length === 0);
    figure.hidden = !mind;
    if (!mind) return;
    const typed = typedWords(state.text);
    const { at, word } = target(typed, probes);
    const { senses, levels } = probes[word];
    const level = Math.min(state.level, levels.length - 1);
    const held = document.activeElement;
    const focus = [row, scale].map((one) =>
      [...one.children].indexOf(/** @type {Element} */ (held)),
    );
    const found = came?.key === keyOf(state) ? came.found : null;
    row.replaceChildren(
      ...typed.map((one, i) => {
        const gone = state.covered.includes(i);
        const text = gone ? "▢" : readable(one);
        if (i === at) return element("b", { class: "asked" }, text);
        const named = gone ? `uncover “${readable(one)}”` : `cover “${readable(one)}”`;
        const node = button("cover", "", () => turn(i), `${named}, word ${i + 1}`);
        const moved = found && !gone ? found.without[i][level] - found.leans[level] : 0;
        const number = element("small", { "data-role": "effect" });
        show(number, moved, gone || !found ? "" : `${moved > 0 ? "+" : ""}${digits(moved)}`);
        node.append(element("span", {}, text), number);
        node.style.setProperty("--moved", Math.min(1, Math.abs(moved)).toFixed(2));
        press(node, gone);
        return node;
      }),
    );
    ends.replaceChildren(
      ...senses.map((one, i) => element("span", {}, i ? `${one} →` : `← ${one}`)),
    );
    scale.replaceChildren(
      ...levels.map((_, i) => {
        const p = found ? found.leans[i] : 0.5;
        const mark = element("span", { class: "mark", "aria-hidden": "true" });
        mark.style.setProperty("--lean", p.toFixed(4));
        const number = element("b", { "data-role": "lean" });
        show(number, p);
        const node = button(
          "level",
          "",
          () => change(model, { level: i }),
          `layer ${i}: ${prediction(p, senses, "probability ")}`,
        );
        node.append(element("span", {}, `layer ${i}`), mark, number);
        press(node, i === level);
        return node;
      }),
    );
    [row, scale].forEach((one, k) => {
      const heir = /** @type {HTMLElement | undefined} */ (one.children[focus[k]]);
      if (focus[k] >= 0) heir?.focus();
    });
    if (found) {
      say.textContent = sentence(typed, found, { ...state, level });
      table.replaceChildren(
        tableOf(
          ["covered as well", ...levels.map((_, i) => `layer ${i}`)],
          [
            ["nothing", ...found.leans.map((p) => digits(p, 3))],
            ...typed.flatMap((one, i) =>
              i === at || state.covered.includes(i)
                ? []
                : [[readable(one), ...found.without[i].map((p) => digits(p, 3))]],
            ),
          ],
        ),
      );
    }
    attend();
  }
  return { node, draw, stop: ask.stop };
}

export default widget(["machines", "probes", "texts"], ["text", "covered", "level"], build, {
  text: (x, s) =>
    typeof x === "string" &&
    x.length <= limits.letters &&
    typedWords(x).length <= limits.words &&
    target(typedWords(x), s.probes).at >= 0,
  covered: (x) =>
    Array.isArray(x) && x.length <= limits.words && series(integer(0, limits.words), x, x.length),
  level: integer(0, 12),
});
