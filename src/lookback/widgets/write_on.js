// @ts-check
// The trained GPT continues the reader's own words: what it holds likely
// next, what temperature, top-k and top-p leave of that, and a word drawn.
import { chances, cut, drawn, likeliest, SKILLS, shown, tokensOf, typedWords } from "./bodies.js";
import { fetching, reason, typing, unknown, wordRow } from "./caption.js";
import { integer, real } from "./lib/link.js";
import { uniform } from "./lib/mulberry.js";
import { END } from "./lib/recurrent.js";
import { digits, grouped, share } from "./lib/text.js";
import {
  bar,
  button,
  change,
  element,
  grey,
  root,
  scroller,
  select,
  slider,
  tableButton,
  tableOf,
  voice,
  widget,
} from "./lib/view.js";
import { size } from "./lib/waking.js";
import { serve } from "./lib/worker.js";
import limits from "./write_on.json" with { type: "json" };

/** @typedef {{machines: Record<string, import("./bodies.js").Known>, text: string,
 *   written: number[], temperature: number, k: number, p: number, seed: number}} State */

serve(SKILLS);
const NAME = "gpt";

/** A distribution over the next word, before and after it is cut.
 * @typedef {{before: Float64Array, kept: ReturnType<typeof cut>, order: number[]}} Next */

/** @param {ArrayLike<number>} scores @param {State} state @returns {Next} */
export function nextOf(scores, { temperature, k, p }) {
  const before = chances(scores);
  const kept = cut(chances(scores, temperature), k, p);
  return { before, kept, order: likeliest(before, limits.rows) };
}

/** What can be drawn, in words; at the end of a caption there is no next word.
 * @param {string[]} pieces @param {Next | null} next @param {string} said so far */
export function sentence(pieces, next, said) {
  if (!next) return `The caption has ended: “${said}”.`;
  const { kept, order } = next;
  const many = kept.count === 1 ? "one word is" : `${grouped(kept.count)} words are`;
  return `After “${said}” the likeliest word is “${shown(pieces[order[0]])}”, drawn with probability ${share(kept.p[order[0]])}; ${many} left to draw from.`;
}

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const { say, problem, complain } = voice(model);
  const { ask, news, wake } = fetching(model);
  /** @type {import("./caption.js").Mind | null} */
  let mind = null;
  /** @type {{key: string, scores: Float64Array} | null} */
  let came = null;
  let wanted = "";

  /** The row of tokens of a state, as far as a machine is awake. @param {State} state */
  const rowOf = ({ text, written }) => [
    ...tokensOf(typedWords(text), mind?.index ?? new Map(), false),
    ...written,
  ];
  const ended = () => {
    const { written } = read();
    return written[written.length - 1] === END || rowOf(read()).length > limits.words;
  };

  /** Asks for the next word, if that is not what is known. */
  async function attend() {
    if (!mind) return;
    const tokens = rowOf(read());
    const key = JSON.stringify(tokens);
    if (key === wanted || ended()) return;
    wanted = key;
    node.setAttribute("aria-busy", "true");
    try {
      const [scores] = await ask.scores({ name: NAME, tokens, places: [tokens.length - 1] });
      if (wanted !== key) return;
      came = { key, scores };
      node.removeAttribute("aria-busy");
      draw();
      if (running) on();
    } catch (error) {
      halt();
      mind = null;
      wanted = "";
      node.removeAttribute("aria-busy");
      complain(reason(error));
      draw();
    }
  }
  let running = false; // to the end of the caption
  const halt = () => {
    running = false;
  };

  /** Wakes the machine, and takes up what was typed. @param {string} begun */
  async function begin(begun) {
    halt();
    const typed = typedWords(begun);
    complain("");
    if (begun.length > limits.letters) {
      return complain(`At most ${limits.letters} letters, please.`);
    }
    if (typed.includes("_")) {
      return complain("A blank is the BERT's business: a GPT only continues a text.");
    }
    if (typed.length > limits.words - 5) return complain("That is longer than any caption.");
    const awake = mind !== null; // then the same words begin a caption anew
    try {
      mind = await wake(NAME);
    } catch (error) {
      return complain(reason(error));
    }
    const odd = unknown(typed, mind);
    if (odd) complain(`The captions never have ${odd}: it reads <unk>.`);
    const { text, written, seed } = read();
    if (begun === text && !(awake && written.length)) draw();
    else change(model, { text: begun, written: [], seed: begun === text ? after(seed) : seed });
  }
  /** @param {number} id */
  const put = (id) => change(model, { written: [...read().written, id] });
  /** The distribution that is in view, if it is that of the state. */
  const now = () =>
    mind && came && came.key === JSON.stringify(rowOf(read())) ? nextOf(came.scores, read()) : null;
  const draws = () => {
    const next = now();
    const { seed, written } = read();
    if (next && !ended()) put(drawn(next.kept, uniform(seed, written.length)));
  };
  const on = () => (ended() ? halt() : draws());
  /** @param {number} seed */
  const after = (seed) => (seed + 1) % (limits.seed + 1);

  const { start, line, follow } = typing("A caption begins ", begin);
  const heat = slider(
    "temperature",
    { min: limits.coldest, max: limits.hottest, step: 0.1, "aria-label": "temperature" },
    (temperature) => change(model, { temperature }),
  );
  const ks = select(
    "k",
    limits.ks.map((k) => [k, k ? `the ${k} likeliest` : "all words"]),
    (k) => change(model, { k: Number(k) }),
  );
  const top = slider("p", { min: 0.05, max: 1, step: 0.05, "aria-label": "top-p" }, (p) =>
    change(model, { p }),
  );
  const [heated, topped] = [element("b"), element("b")];
  const text = element("p", { class: "words", lang: "en", "data-role": "caption" });
  const list = element("div", {
    class: "next",
    role: "group",
    "aria-label": "the next word",
  });
  const table = scroller("the next word", { hidden: true });
  const does = {
    draw: button("draw", "Draw a word", () => {
      halt();
      draws();
    }),
    best: button("best", "Take the likeliest", () => {
      halt();
      const next = now();
      if (next && !ended()) put(next.order[0]);
    }),
    end: button("end", "Draw to the end", () => {
      running = true;
      on();
    }),
    undo: button("undo", "Take one back", () => {
      halt();
      if (read().written.length) change(model, { written: read().written.slice(0, -1) });
    }),
    again: button("again", "Resample", () => {
      const seed = after(read().seed);
      if (read().written.length) change(model, { written: [], seed });
      else change(model, { seed });
      running = true; // only now: a caption that has ended halts when drawn
      on();
    }),
  };
  const figure = element("div", { class: "answer", hidden: true }, text, say, list);
  figure.append(table);
  const node = root(
    "write-on",
    "A GPT that continues your words",
    line,
    bar(
      element("label", {}, "temperature ", heat, heated),
      element("label", {}, "top-k ", ks),
      element("label", {}, "top-p ", top, topped),
    ),
    problem,
    ...news,
    bar(...Object.values(does), tableButton(list, table)),
    figure,
  );
  node.classList.add("caption-widget");

  /** The rows of the next word. @param {string[]} pieces @param {Next} next */
  function lay(pieces, { before, kept, order }) {
    const held = list.contains(document.activeElement);
    const most = Math.max(before[order[0]], kept.p[kept.order[0]]);
    list.replaceChildren(
      ...order.map((id) => {
        const lengths = { "--before": before[id] / most, "--kept": kept.p[id] / most };
        const row = wordRow(id, pieces[id], kept.p[id], lengths, () => {
          halt();
          put(id);
        });
        row.classList.toggle("out", kept.p[id] === 0);
        return row;
      }),
    );
    if (held) /** @type {HTMLElement | null} */ (list.firstChild)?.focus();
    table.replaceChildren(
      tableOf(
        ["word", "it says", "drawn with"],
        order.map((id) => [shown(pieces[id]), digits(before[id], 4), digits(kept.p[id], 4)]),
      ),
    );
  }

  function draw() {
    const state = read();
    follow(state.text);
    [heat.value, top.value, ks.value] = [state.temperature, state.p, state.k].map(String);
    heated.textContent = digits(state.temperature, 1);
    topped.textContent = digits(state.p);
    const { bytes } = state.machines[NAME];
    start.textContent = mind ? "Begin" : `Load the GPT (${size(bytes)})`;
    figure.hidden = !mind;
    const stopped = !mind || ended();
    for (const name of /** @type {const} */ (["draw", "best", "end"])) grey(does[name], stopped);
    grey(does.undo, !mind || state.written.length === 0);
    grey(does.again, !mind);
    if (!mind) return;
    const { pieces, index } = mind;
    const typed = typedWords(state.text).map((word) => (index.has(word) ? shown(word) : "<unk>"));
    const own = state.written.map((id) => shown(pieces[id] ?? ""));
    text.replaceChildren(
      ...typed.flatMap((word) => [word, " "]),
      ...own.flatMap((word) => [element("span", { class: "drawn" }, word), " "]),
    );
    const said = [...typed, ...own.filter((_, i) => state.written[i] !== END)].join(" ");
    const next = now();
    if (ended()) {
      halt();
      list.replaceChildren();
      table.replaceChildren();
      say.textContent = sentence(pieces, null, said);
    } else if (next) {
      lay(pieces, next);
      say.textContent = sentence(pieces, next, said);
    }
    attend();
  }
  return {
    node,
    draw,
    stop() {
      halt();
      ask.stop();
    },
  };
}

export default widget(["machines"], ["text", "written", "temperature", "k", "p", "seed"], build, {
  text: (x) => typeof x === "string" && x.length <= limits.letters,
  written: (x) =>
    Array.isArray(x) && x.length <= limits.words && x.every((id) => integer(3, 5921)(id, null)),
  temperature: real(limits.coldest, limits.hottest),
  k: (x) => limits.ks.includes(x),
  p: real(0.05, 1),
  seed: integer(0, limits.seed),
});
