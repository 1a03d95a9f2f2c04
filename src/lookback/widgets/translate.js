// @ts-check
// Type a sentence, and watch a model translate it: what it could have said, where
// its attention was, and what becomes of it without. Python: translate.py.

import { squares } from "./lib/grid.js";
import { among, integer, series } from "./lib/link.js";
import { digits, quoted, share } from "./lib/text.js";
import {
  bar,
  button,
  change,
  element,
  field,
  frame,
  headings,
  press,
  scroller,
  select,
  tableOf,
  transport,
  voice,
  widget,
} from "./lib/view.js";
import { loaded, size, waking } from "./lib/waking.js";
import { serve } from "./lib/worker.js";
import limits from "./translate.json" with { type: "json" };
import { translator } from "./translator.js";

/** @typedef {import("./decode.js").Step} Step */
/** @typedef {import("./decode.js").Written} Written */
/** @typedef {import("./translator.js").Translation} Translation */
/** @typedef {{title: string, layers: number, heads: number, file: string, bytes: number,
 *   sha256: string}} Machine */
/** @typedef {{machines: Record<string, Machine>, text: string, machine: string, width: number,
 *   look: string, gone: string, given: number[], step: number, seen: string,
 *   rival: number}} State */
/** @typedef {import("./lib/view.js").Model<State>} Model */

/** @type {Map<string, ReturnType<typeof translator>>} */
const awake = new Map();

/** What the worker does. */
export const SKILLS = {
  /** @param {import("./lib/waking.js").Brought} given */
  async wake(given) {
    awake.set(given.name, translator(await loaded(given)));
    return true;
  },
  /** @param {import("./translator.js").Asked & {name: string}} given */
  translate({ name, ...asked }) {
    const one = awake.get(name);
    if (!one) throw new Error("The model is not loaded.");
    return one.translate(asked);
  },
};
serve(SKILLS);

/** @type {[string, string][]} */
const LOOKS = [
  ["own", "as learned"],
  ["uniform", "uniform"],
  ["diagonal", "on the diagonal"],
];
const LENGTH = 2 * limits.pieces + 10; // pieces written, at most

/** One head of the model, "1.0", or none. @type {import("./lib/link.js").Fits<State>} */
const isHead = (x, { machines, machine }) => {
  const { layers, heads } = machines[machine] ?? { layers: 0, heads: 0 };
  const [layer, head] = String(x)
    .match(/^(\d)\.(\d)$/)
    ?.slice(1)
    .map(Number) ?? [NaN, NaN];
  return x === "" || (layer < layers && head < heads);
};

/** A word's attention: a head's energies and weights, or the mean of a layer's.
 * @param {Step} step @param {string} seen "layer.head", or "" for the last layer
 * @returns {{energies: number[] | null, weights: number[]}} */
export function lookOf({ looks }, seen) {
  const [layer, head] = seen.split(".").map(Number);
  const one = seen ? looks[layer] : looks[looks.length - 1];
  if (seen) return { energies: one.energies[head], weights: one.weights[head] };
  const heads = one.weights.length;
  if (heads === 1) return { energies: one.energies[0], weights: one.weights[0] };
  const mean = one.weights[0].map((_, j) =>
    one.weights.reduce((sum, row) => sum + row[j] / heads, 0),
  );
  return { energies: null, weights: mean };
}

/** The step in words.
 * @param {Translation} now @param {Written} written @param {number} i @param {string} seen */
export function sentence({ source, pieces, given }, { steps }, i, seen) {
  const { id, p } = steps[i];
  const { weights } = lookOf(steps[i], seen);
  const most = Math.max(...weights);
  const best = weights.indexOf(most);
  const where =
    most - Math.min(...weights) < 1e-9
      ? "its attention is on all pieces equally, or on none."
      : `its attention is mostly on ${quoted(source, best)}, weight ${digits(most)}.`;
  const whose =
    i < given.length ? "given by you; the model's probability for it was" : "probability";
  return `Piece ${i + 1} of ${steps.length}, “${pieces[id]}”, ${whose} ${share(p)}: ${where}`;
}

/** The map of one translation; a row's button steps to it.
 * @param {Translation} now @param {Written} written @param {string} seen
 * @param {(step: number) => void} go */
function lookMap(now, { steps }, seen, go) {
  const looks = steps.map((step) => lookOf(step, seen).weights);
  const titles = headings(now.source.map((piece) => element("span", {}, piece)));
  titles.prepend(element("td", {}));
  const cells = looks.map((row, i) =>
    row.map((weight, j) =>
      element(
        "td",
        {
          tabindex: -1,
          style: `--w:${weight.toFixed(4)}`,
          "data-row": i,
          "data-column": j,
          "data-value": weight,
          title: `${now.source[j]}: ${digits(weight, 3)}`,
        },
        element("span", {}, digits(weight)),
      ),
    ),
  );
  const rows = steps.map(({ id }, i) =>
    element(
      "tr",
      {},
      element("th", { scope: "row", "data-row": i, lang: "fr" }, now.pieces[id]),
      ...cells[i],
    ),
  );
  const walker = squares(rows, cells, go);
  const node = element(
    "div",
    { class: "map", onclick: walker.click, onkeydown: walker.walk },
    element(
      "table",
      {
        role: "grid",
        "aria-label":
          "attention weights: a row for each piece written, a column for each piece read",
      },
      element("thead", {}, titles),
      element("tbody", {}, ...rows),
    ),
  );
  return { node, draw: walker.draw };
}

/** The button of a list that is chosen.
 * @param {HTMLElement} list @returns {HTMLElement | null} */
const pressed = (list) => list.querySelector('[aria-pressed="true"]');

/** What else it could have said, and a field for what it did not think of.
 * @param {(choice: {id?: number, word?: string}) => unknown} take */
function rivals(take) {
  const list = element("div", {
    class: "bar",
    role: "group",
    "aria-label": "what else it could have said",
  });
  const box = field(
    "word",
    { size: 10, lang: "fr", spellcheck: "false", autocapitalize: "none" },
    () => {},
  );
  const problem = element("p", { class: "problem", "data-role": "word-problem", role: "alert" });
  const own = () => take({ word: box.value });
  box.onkeydown = (event) => {
    if (event.key === "Enter") own();
  };
  return {
    node: element(
      "div",
      { class: "rivals" },
      element(
        "p",
        { class: "head" },
        "What it considered likely here. Choose one, and it continues from there:",
      ),
      list,
      bar(
        element("label", {}, "or a word of yours ", box),
        button("go-on", "Continue from it", own),
      ),
      problem,
    ),
    /** @param {string} text */
    complain(text) {
      problem.textContent = text;
    },
    /** @param {Translation} now @param {Step} step */
    draw({ pieces }, { id, rivals: likely }) {
      box.value = "";
      const held = list.contains(document.activeElement);
      const all = likely.some((one) => one.id === id) ? likely : [{ id, p: NaN }, ...likely];
      list.replaceChildren(
        ...all.map((one) => {
          const node = button("rival", "", () => take({ id: one.id }));
          node.append(
            element("span", { lang: "fr" }, pieces[one.id]),
            element(
              "small",
              { "data-role": "chance", "data-value": one.p },
              Number.isNaN(one.p) ? " yours" : ` ${share(one.p)}`,
            ),
          );
          press(node, one.id === id);
          return node;
        }),
      );
      if (held) pressed(list)?.focus();
    },
  };
}

/** What the beam has at the end, and what it kept at this word.
 * @param {Translation} now @param {number} rival @param {number} step
 * @param {(rival: number) => void} choose */
function beamList(now, rival, step, choose) {
  const ends = now.found.map(({ score }, i) => {
    const node = button("end", "", () => choose(i));
    node.append(
      element("span", { lang: "fr" }, now.sentences[i] || "nothing"),
      element("small", {}, ` ${digits(score, 3)} a piece`),
    );
    press(node, i === rival);
    return element("li", {}, node);
  });
  const kept = now.kept[Math.min(step, now.kept.length - 1)];
  return element(
    "div",
    { class: "beam" },
    element(
      "p",
      { class: "head" },
      "What is left at the end, best first, by mean log-probability:",
    ),
    element("ol", {}, ...ends),
    element(
      "p",
      { class: "head" },
      `What was kept after ${step ? `${step + 1} pieces` : "one piece"}:`,
    ),
    tableOf(
      ["", "so far", "log p a piece"],
      kept.map(({ steps, score }, i) => [
        `${i + 1}`,
        steps.map(({ id }) => now.pieces[id]).join(" "),
        digits(score, 3),
      ]),
    ),
  );
}

/** Fetches the models when they are wanted, and asks them; one question at a time.
 * @param {Model} model @param {(text: string, share?: number) => void} report */
function asking(model, report) {
  const { stop, wake, ask } = waking(model, report);
  return {
    stop,
    /** @param {State} state @param {string} word @returns {Promise<Translation>} */
    async translate({ machine, text, width, look, gone, given }, word = "") {
      await wake(machine);
      return ask("translate", { name: machine, text, width, look, gone, given, word });
    },
  };
}

/** The whole widget. @param {Model} model @param {() => State} read */
function build(model, read) {
  const machines = model.get("machines");
  const { say, problem, complain } = voice(model);
  const progress = element("progress", {
    max: 1,
    value: 0,
    hidden: true,
    "aria-label": "weights fetched",
  });
  const news = element("p", { class: "news", "data-role": "news", role: "status" });
  const ask = asking(model, (text, part) => {
    news.textContent = text;
    progress.hidden = part === undefined;
    progress.value = part ?? 0;
  });
  let [asleep, applying] = [true, false]; // until it is wanted; while traits change
  /** @type {{key: string, now: Translation} | null} */
  let known = null;
  let wanted = "";

  /** What a translation depends on. @param {State} state */
  const keyOf = ({ machine, text, width, look, gone, given }) =>
    JSON.stringify([machine, text, width, look, gone, given]);

  /** Translates with these changes; only if that can be done do they become the state.
   * @param {Partial<State>} changes @param {string} [word] that follows what is given */
  async function attempt(changes, word = "") {
    asleep = false;
    pending = { ...pending, ...changes };
    const asked = { ...read(), ...pending };
    const next = { ...asked };
    const key = keyOf(next) + word;
    wanted = key;
    node.setAttribute("aria-busy", "true");
    complain("");
    choices.complain("");
    settle();
    try {
      const now = await ask.translate(next, word);
      if (wanted !== key) return;
      next.given = now.given;
      known = { key: keyOf(next), now };
      applying = true;
      change(model, { ...pending, given: now.given });
      pending = {};
      applying = false;
      draw();
    } catch (error) {
      if (wanted !== key) return;
      pending = {};
      laid = read().text;
      const why = error instanceof Error ? error.message : String(error);
      const below = known ? ` Below is still the translation of “${read().text}”` : "";
      (word ? choices : { complain }).complain(`${why}${below}`);
      wanted = known?.key ?? "";
      settle();
    } finally {
      if (wanted === key || wanted === known?.key) node.removeAttribute("aria-busy");
    }
  }
  const afresh = { given: [], step: 0, rival: 0 };

  let laid = ""; // the sentence that the state had when the field was last filled
  const box = field("text", { class: "sentence", lang: "en", spellcheck: "false" }, () => {});
  // A link may have brought the start of a translation: waking goes on from it.
  const type = () =>
    attempt(asleep && box.value === read().text ? {} : { ...afresh, text: box.value });
  box.onkeydown = (event) => {
    if (event.key === "Enter") type();
  };
  const start = button("translate", "Translate", type);

  /** @type {(name: string) => [string, string]} */
  const titled = (name) => [name, machines[name].title];
  const machine = select("machine", Object.keys(machines).map(titled), (name) =>
    attempt({ ...afresh, text: box.value, machine: name, gone: "", seen: "" }),
  );
  const widths = Array.from({ length: limits.beam }, (_, i) => i + 1);
  const width = select(
    "width",
    widths.map((n) => [n, n === 1 ? "greedy" : `beam of ${n}`]),
    (n) => attempt({ width: Number(n), step: 0, rival: 0 }),
  );
  const look = select("look", LOOKS, (name) => attempt({ look: name, step: 0, rival: 0 }));
  /** Each head of a model. @param {Machine} one @returns {[string, string][]} */
  const headsOf = ({ layers, heads }) =>
    Array.from({ length: layers * heads }, (_, i) => {
      const [layer, head] = [Math.floor(i / heads), i % heads];
      return [`${layer}.${head}`, `layer ${layer + 1}, head ${head + 1}`];
    });
  const gone = select("gone", [], (head) => attempt({ gone: head, step: 0, rival: 0 }));
  const seen = select("seen", [], (head) => change(model, { seen: head }));
  /** What was asked for and has not come yet. @type {Partial<State>} */
  let pending = {};
  const [goneLabel, seenLabel] = [
    element("label", {}, "head removed ", gone),
    element("label", {}, "attention shown ", seen),
  ];

  const shown = () => {
    if (!known || known.key !== keyOf(read())) return null;
    const { found } = known.now;
    return { now: known.now, written: found[Math.min(model.get("rival"), found.length - 1)] };
  };
  const at = () => {
    const last = (shown()?.written.steps.length ?? 1) - 1;
    return { step: Math.min(model.get("step"), last), last };
  };
  const walk = transport(at, (step) => change(model, { step }), 900);
  const choices = rivals(({ id, word }) => {
    choices.complain("");
    const found = shown();
    if (!found || (word !== undefined && word.trim() === "")) return;
    if (word !== undefined && [...word].length > limits.word) {
      return choices.complain(`At most ${limits.word} letters, please.`);
    }
    const { step } = at();
    const before = found.written.steps.slice(0, step).map((one) => one.id);
    attempt({ given: id === undefined ? before : [...before, id], step, rival: 0 }, word);
  });
  const [french, chart, numbers, beams] = [
    element("p", { class: "words", lang: "fr", "data-role": "french" }),
    element("div", { class: "chart" }),
    scroller("energies and attention weights of this piece"),
    element("details", { "data-role": "beam" }, element("summary", {}, "The beam and its rivals")),
  ];
  const inBeam = element("div", {});
  beams.append(inBeam);
  const look1 = element(
    "details",
    { "data-role": "numbers" },
    element("summary", {}, "Energies and attention weights of this piece"),
    numbers,
  );
  const table = button(
    "table",
    "Table",
    () => press(table, node.classList.toggle("numbers")),
    "Show as table",
  );
  press(table, false);
  const figure = element(
    "div",
    { class: "figure", hidden: true },
    french,
    bar(...walk.nodes, seenLabel, table),
    say,
    element("div", { class: "both" }, chart, choices.node),
    look1,
    beams,
  );
  const node = frame(
    "translate",
    "Translate it yourself",
    at,
    walk.to,
    bar(element("label", { class: "typed" }, "English ", box), start),
    bar(
      element("label", {}, "model ", machine),
      element("label", {}, "search ", width),
      element("label", {}, "attention ", look),
      goneLabel,
    ),
    problem,
    news,
    progress,
    figure,
  );
  node.classList.add("translate");

  /** Fields as the state has them. */
  function settle() {
    const state = { ...read(), ...pending };
    const one = machines[state.machine];
    // What is being typed stays, whatever comes meanwhile.
    if (box.value === laid || state.text !== laid) box.value = state.text;
    laid = state.text;
    [machine.value, width.value, look.value] = [state.machine, String(state.width), state.look];
    const heads = headsOf(one);
    const options = (/** @type {[string, string][]} */ all) =>
      all.map(([value, text]) => element("option", { value }, text));
    gone.replaceChildren(...options([["", "none"], ...heads]));
    seen.replaceChildren(...options([["", "the last layer, mean of its heads"], ...heads]));
    [gone.value, seen.value] = [state.gone, state.seen];
    goneLabel.hidden = seenLabel.hidden = heads.length === 1;
    start.textContent = asleep ? `Load the ${one.title} (${size(one.bytes)})` : "Translate";
  }

  /** @type {{now: Translation | null, rival: number, seen: string,
   *   map: ReturnType<typeof lookMap> | null}} */
  let drawn = { now: null, rival: -1, seen: "", map: null };
  function draw() {
    if (applying) return;
    settle();
    const found = shown();
    figure.hidden = !found;
    if (!found) {
      if (!asleep && wanted !== keyOf(read())) attempt({});
      return;
    }
    const { now, written } = found;
    const state = read();
    const { step } = at();
    if (drawn.now !== now || drawn.rival !== state.rival || drawn.seen !== state.seen) {
      const map = lookMap(now, written, state.seen, (to) => walk.to(to));
      chart.replaceChildren(map.node);
      drawn = { now, rival: state.rival, seen: state.seen, map };
    }
    drawn.map?.draw(step);
    french.replaceChildren(
      ...written.steps.flatMap(({ id }, i) => {
        const piece = now.pieces[id];
        const whole = !piece.endsWith("·");
        const next = written.steps[i + 1];
        const cut = next && now.pieces[next.id] === "<end>"; // may end in mid-word
        const kind = `${i === step ? "now" : ""} ${i < now.given.length ? "yours" : ""}`;
        const node = element("span", { class: kind }, whole ? piece : piece.slice(0, -1));
        return whole || cut ? [node, " "] : [node];
      }),
    );
    choices.draw(now, written.steps[step]);
    say.textContent = sentence(now, written, step, state.seen);
    const { energies, weights } = lookOf(written.steps[step], state.seen);
    numbers.replaceChildren(
      tableOf(
        ["piece", "energy", "weight"],
        now.source.map((piece, j) => [
          piece,
          energies ? digits(energies[j]) : "—",
          digits(weights[j], 3),
        ]),
      ),
      ...(energies
        ? []
        : [
            "These are averages over the heads. Each head has energies of its own: choose one above.",
          ]),
    );
    const held = inBeam.contains(document.activeElement);
    inBeam.replaceChildren(
      beamList(now, state.rival, step, (rival) => change(model, { rival, step: 0 })),
    );
    if (held) pressed(inBeam)?.focus();
    beams.hidden = state.width === 1;
    walk.draw();
  }
  return {
    node,
    draw,
    stop() {
      walk.stop();
      ask.stop();
    },
  };
}

export default widget(
  ["machines"],
  ["text", "machine", "width", "look", "gone", "given", "step", "seen", "rival"],
  build,
  {
    text: (x) => typeof x === "string" && x.length <= limits.letters,
    machine: (x, s) => Object.keys(s.machines).includes(x),
    width: integer(1, limits.beam),
    look: among(LOOKS.map(([name]) => name)),
    gone: isHead,
    given: (x) => Array.isArray(x) && x.length <= LENGTH && series(integer(0, 1e6), x, x.length),
    step: integer(0, LENGTH),
    seen: isHead,
    rival: integer(0, limits.beam - 1),
  },
);
