// @ts-check
// The trained BERT fills a blank that the reader makes; the GPT, if it is woken
// too, says what it would have written there, knowing the left side alone.
import { chances, HOLE, likeliest, MASK, SKILLS, shown, tokensOf, typedWords } from "./bodies.js";
import { fetching, reason, typing, unknown, wordRow } from "./caption.js";
import limits from "./fill_in.json" with { type: "json" };
import { flag, integer, series } from "./lib/link.js";
import { END } from "./lib/recurrent.js";
import { digits, share } from "./lib/text.js";
import {
  bar,
  button,
  change,
  checkbox,
  element,
  press,
  root,
  scroller,
  tableButton,
  tableOf,
  voice,
  widget,
} from "./lib/view.js";
import { size } from "./lib/waking.js";
import { serve } from "./lib/worker.js";
import { readable } from "./moses_tokenizer.js";

/** @typedef {{machines: Record<string, import("./bodies.js").Known>, text: string,
 *   covered: number[], at: number, both: boolean}} State */
/** What each machine holds likely in a blank. @typedef {Record<string, Float64Array>} Found */

serve(SKILLS);

/** The words of a state, the covered ones still in view, and which are blanks.
 * @param {{text: string, covered: number[]}} state */
export function blanksOf({ text, covered }) {
  const typed = typedWords(text);
  const blank = typed.map((word, i) => word === HOLE || covered.includes(i));
  return { typed, blank, places: typed.map((_, i) => i).filter((i) => blank[i]) };
}

/** What each machine is asked: the BERT for all blanks of the caption, with all
 * of its words; the GPT for what follows the words before the first blank.
 * @param {State} state @param {Map<string, number>} index */
export function questions(state, index) {
  const { typed, blank, places } = blanksOf(state);
  const tokens = tokensOf(
    typed.map((word, i) => (blank[i] ? HOLE : word)),
    index,
    true,
  );
  const here = places.indexOf(state.at) < 0 ? places[0] : state.at;
  return { tokens, here, bert: [here + 1], gpt: tokens.slice(0, here + 1) };
}

/** What was found for a blank, in words.
 * @param {string[]} pieces @param {Found} found @param {string} truth or "" */
export function sentence(pieces, found, truth) {
  const told = Object.entries(found).map(([name, p]) => {
    const [best] = likeliest(p, 1);
    const own = truth ? pieces.indexOf(truth) : -1;
    const other = () => ` and ${share(p[own])} to “${shown(truth)}”`;
    const yours = own < 0 ? "" : own === best ? ", the word that stood there" : other();
    return `the ${name.toUpperCase()} gives ${share(p[best])} to “${shown(pieces[best])}”${yours}`;
  });
  return `In this blank ${told.join("; ")}.`;
}

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const { say, problem, complain } = voice(model);
  const { ask, news, wake } = fetching(model);
  /** @type {import("./caption.js").Mind | null} */
  let mind = null;
  /** @type {{key: string, found: Found} | null} */
  let came = null;
  let wanted = "";
  /** @param {State} state */
  const keyOf = ({ text, covered, at, both }) => JSON.stringify([text, covered, at, both]);
  /** @param {unknown} error */
  const fail = (error) => {
    wanted = "";
    node.removeAttribute("aria-busy");
    complain(reason(error));
  };

  /** Asks for the blank that is in view. */
  async function attend() {
    const state = read();
    const key = keyOf(state);
    if (!mind || key === wanted || blanksOf(state).places.length === 0) return;
    wanted = key;
    node.setAttribute("aria-busy", "true");
    const { tokens, bert, gpt } = questions(state, mind.index);
    try {
      if (state.both) await ask.words("gpt");
      const [scores] = await ask.scores({ name: "bert", tokens, places: bert });
      const silent = [0, 1, 2, END, MASK];
      /** @type {Found} */
      const found = { bert: chances(scores, 1, silent) };
      if (state.both) {
        const places = [gpt.length - 1];
        const blind = gpt.includes(MASK);
        const [left] = blind ? [null] : await ask.scores({ name: "gpt", tokens: gpt, places });
        if (left) found.gpt = chances(left);
      }
      if (wanted !== key) return;
      came = { key, found };
      node.removeAttribute("aria-busy");
      draw();
    } catch (error) {
      mind = null;
      fail(error);
      draw();
    }
  }

  /** Wakes the machine, and takes up what was typed. @param {string} text */
  async function begin(text) {
    complain("");
    const typed = typedWords(text);
    if (text.length > limits.letters || typed.length > limits.words) {
      return complain(`At most ${limits.words} words, please: captions are short.`);
    }
    if (typed.length === 0) return complain("Type a caption, with _ for a blank.");
    try {
      mind = await wake("bert");
    } catch (error) {
      return fail(error);
    }
    const odd = unknown(typed, mind);
    if (odd) complain(`The captions never have ${odd}: it reads <unk>.`);
    if (text === read().text) draw();
    else change(model, { text, covered: [], at: typed.indexOf(HOLE) });
  }

  /** Covers a word, uncovers it, or turns to another blank. @param {number} i */
  function turn(i) {
    const { covered, at } = read();
    const { typed, blank } = blanksOf(read());
    if (!blank[i]) change(model, { covered: [...covered, i].sort((a, b) => a - b), at: i });
    else if (i !== at || typed[i] === HOLE) change(model, { at: i });
    else {
      const left = covered.filter((one) => one !== i);
      change(model, { covered: left, at: blanksOf({ ...read(), covered: left }).places[0] ?? -1 });
    }
  }
  /** Puts a word into the blank in view. @param {string} word */
  function put(word) {
    const state = read();
    const { typed, blank, places } = blanksOf(state);
    const here = blank[state.at] ? state.at : places[0];
    const words = typed.map((one, i) => (i === here ? word : one)).map(readable);
    const covered = state.covered.filter((i) => i !== here);
    const next = { text: words.join(" "), covered };
    change(model, { ...next, at: blanksOf(next).places[0] ?? -1 });
  }

  const { start, line, follow } = typing("A caption ", begin);
  const both = checkbox("both", (on) => change(model, { both: on }));
  const row = element("div", {
    class: "caption",
    role: "group",
    lang: "en",
    "aria-label": "the caption: choose a word to cover it",
  });
  const lists = element("div", { class: "lists" });
  const table = scroller("what fits in the blank", { hidden: true });
  const figure = element("div", { class: "answer", hidden: true }, row, say, lists, table);
  const node = root(
    "fill-in",
    "A BERT that fills a blank",
    line,
    bar(element("label", {}, both, " ask the GPT too"), tableButton(lists, table)),
    problem,
    ...news,
    figure,
  );
  node.classList.add("caption-widget");

  /** What one machine holds likely; the longest bar of both lists is `most`.
   * @param {string} name @param {Float64Array} p @param {number} most */
  function listOf(name, p, most) {
    const pieces = mind?.pieces ?? [];
    const best = likeliest(p, limits.rows);
    const title = name === "bert" ? "BERT, from both sides" : "GPT, from the left side";
    return element(
      "div",
      { role: "group", "aria-label": title, "data-role": name },
      element("p", { class: "head" }, title),
      ...best.map((id) =>
        wordRow(id, pieces[id], p[id], { "--kept": p[id] / most }, () => {
          if (id !== END) put(pieces[id]);
        }),
      ),
    );
  }

  function draw() {
    const state = read();
    follow(state.text);
    both.checked = state.both;
    const { bytes } = state.machines.bert;
    start.textContent = mind ? "Ask" : `Load the BERT (${size(bytes)})`;
    figure.hidden = !mind;
    if (!mind) return;
    const { pieces, index } = mind;
    const { typed, blank, places } = blanksOf(state);
    const here = blank[state.at] ? state.at : places[0];
    const held = [...row.children].indexOf(/** @type {Element} */ (document.activeElement));
    row.replaceChildren(
      ...typed.map((word, i) => {
        const one = button(
          "cover",
          blank[i] ? "▢" : index.has(word) ? readable(word) : "<unk>",
          () => turn(i),
          blank[i] ? `blank, word ${i + 1}` : `cover “${readable(word)}”, word ${i + 1}`,
        );
        press(one, blank[i]);
        one.classList.toggle("now", i === here);
        return one;
      }),
    );
    if (held >= 0) /** @type {HTMLElement | undefined} */ (row.children[held])?.focus();
    if (here === undefined) {
      say.textContent = "Choose a word to cover it.";
      lists.replaceChildren();
      table.replaceChildren();
    } else if (came && came.key === keyOf(state)) {
      const { found } = came;
      const truth = typed[here] === HOLE ? "" : typed[here];
      const kept = lists.contains(document.activeElement);
      const most = Math.max(...Object.values(found).map((p) => p[likeliest(p, 1)[0]]));
      lists.replaceChildren(...Object.entries(found).map(([name, p]) => listOf(name, p, most)));
      if (kept) /** @type {HTMLElement | null} */ (lists.querySelector("button"))?.focus();
      if (state.both && !found.gpt) {
        lists.append(element("p", { class: "head" }, "The GPT cannot read past an earlier blank."));
      }
      table.replaceChildren(
        ...Object.entries(found).map(([name, p]) =>
          tableOf(
            [name.toUpperCase(), "probability"],
            likeliest(p, limits.rows).map((id) => [shown(pieces[id]), digits(p[id], 4)]),
          ),
        ),
      );
      say.textContent = sentence(pieces, found, truth);
    }
    attend();
  }
  return { node, draw, stop: ask.stop };
}

export default widget(["machines"], ["text", "covered", "at", "both"], build, {
  text: (x) => typeof x === "string" && x.length <= limits.letters,
  covered: (x) =>
    Array.isArray(x) && x.length <= limits.words && series(integer(0, limits.words), x, x.length),
  at: integer(-1, limits.words),
  both: flag,
});
