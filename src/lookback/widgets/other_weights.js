// @ts-check
// Put other weights into the attention of a trained RNNsearch, and see what it would
// write next. Python: other_weights.py; the model: rnnsearch.js.
import { tiles } from "./lib/chart.js";
import { integer, real, series } from "./lib/link.js";
import { mix, softmax, total, within } from "./lib/maths.js";
import { uniform } from "./lib/mulberry.js";
import { END, next, START } from "./lib/recurrent.js";
import { unpackRows } from "./lib/rows.js";
import { digits, quoted, share } from "./lib/text.js";
import {
  bar,
  button,
  current,
  element,
  frame,
  grey,
  press,
  scroller,
  select,
  show,
  tableButton,
  tableOf,
  transport,
  voice,
  widget,
} from "./lib/view.js";
import limits from "./other_weights.json" with { type: "json" };
import { rnnsearch } from "./rnnsearch.js";

/** @typedef {import("./lib/recurrent.js").Weights} Weights */
/** @typedef {{vocabularies: {source: string[], target: string[]},
 *   machine: Record<string, import("./lib/rows.js").Rows>, sentences: string[], text: string,
 *   step: number, weights: number[], seed: number}} State */
/** @typedef {{token: number, state: import("./rnnsearch.js").State, own: number[],
 *   p: number[]}} Moment at which a word is written */
/** @typedef {ReturnType<typeof examine>} Told */

const FIRST = 4; // vocabulary.py: the number of a vocabulary's first word
const SPECIAL = ["<pad>", "<unk>", "<start>", "<end>"];
const ROWS = 5; // words of a distribution that are shown

/** A translation, and every moment of it.
 * @param {Weights} p @param {number[]} source ids, END last */
export function examine(p, source) {
  /** @type {number[] | null} */
  let other = null;
  const model = rnnsearch(p, (weights) => other ?? weights);
  const memory = model.read(source);
  /** @type {Moment[]} */
  const moments = [];
  /** @type {number[]} */
  const target = [];
  let state = model.begin(memory);
  for (let token = START; token !== END; ) {
    const now = model.step(token, state, memory);
    const logits = Array.from(now.logits());
    const own = now.looks[0].weights[0];
    moments.push({ token, state, own, p: softmax(logits) });
    state = now.state;
    token = next({ most: limits.written }, target.length, () => logits);
    target.push(token);
  }
  /** What would be written at a moment with other weights.
   * @param {number} step @param {number[]} weights */
  const says = (step, weights) => {
    other = weights;
    const { token, state } = moments[step];
    const found = softmax(Array.from(model.step(token, state, memory).logits()));
    other = null;
    return found;
  };
  return { source, target, moments, says };
}

/** ½ Σ |p − q|. @param {number[]} p @param {number[]} q */
export const variation = (p, q) => total(p.map((x, k) => Math.abs(x - q[k]))) / 2;

/** The Jensen–Shannon divergence, in nats: at most ln 2.
 * @param {number[]} a @param {number[]} b */
export function divergence(a, b) {
  const middle = mix([0.5, 0.5], [a, b]);
  /** @param {number[]} x */
  const kl = (x) => total(x.map((one, k) => (one > 0 ? one * Math.log(one / middle[k]) : 0)));
  return (kl(a) + kl(b)) / 2;
}

/** The weights in another order. @param {number[]} weights @param {number} seed */
export function shuffled(weights, seed) {
  const found = [...weights];
  for (let i = found.length - 1; i > 0; i -= 1) {
    const j = Math.floor(uniform(seed, i) * (i + 1));
    [found[i], found[j]] = [found[j], found[i]];
  }
  return found;
}

/** Weights as different as chance finds them, while the next word's distribution
 * moves by no more than `epsilon`: from many starts, then step by step.
 * @param {Told} told @param {number} step @param {number} seed */
export function seek({ moments, says }, step, seed) {
  const { own, p } = moments[step];
  let at = 0;
  const draw = () => uniform(seed, at++);
  /** Sharp or flat, at random. */
  const fresh = () => softmax(own.map(() => (draw() - 0.5) * 12));
  let [best, far] = [own, 0];
  for (let k = 0; k < limits.tries; k += 1) {
    const away = k % 3 === 0 ? fresh() : own.map((_, j) => Number(j === k % own.length));
    const reach = k % 3 === 0 ? draw() : draw() ** 2;
    const tried = mix([1 - reach, reach], [best, away]);
    const apart = divergence(tried, own);
    if (apart > far && variation(says(step, tried), p) <= limits.epsilon) {
      [best, far] = [tried, apart];
    }
  }
  return best;
}

/** The likeliest words of both distributions. @param {number[]} p @param {number[]} q */
export function likeliest(p, q) {
  const order = p.map((_, k) => k).sort((a, b) => Math.max(p[b], q[b]) - Math.max(p[a], q[a]));
  return order.slice(0, ROWS);
}

/** What became of the word, in words.
 * @param {string[]} source @param {string[]} names @param {Moment} moment
 * @param {number[]} weights @param {number[]} q */
export function sentence(source, names, { own, p }, weights, q) {
  const [was, now] = [p, q].map((row) => row.indexOf(Math.max(...row)));
  const look = own.indexOf(Math.max(...own));
  const before = `With its own weights it looks most at ${quoted(source, look)} and writes “${names[was]}”, ${share(p[was])}.`;
  if (divergence(own, weights) < 1e-9) return before;
  const verb = was === now ? "still writes" : "would write";
  return (
    `${before} With yours it ${verb} “${names[now]}”, ${share(q[now])}; ` +
    `the distribution moves by ${digits(variation(p, q))}, the weights by ${digits(divergence(own, weights))}.`
  );
}

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const { say, set } = voice(model);
  const { source: english, target: french } = model.get("vocabularies");
  const words = model.get("text").split(" ");
  const ids = [...words.map((word) => FIRST + english.indexOf(word)), END];
  const source = [...words, "<end>"];
  const names = [...SPECIAL, ...french];
  const told = examine(unpackRows(model.get("machine")), ids);
  const last = told.target.length - 1;
  const at = () => ({ step: within(0, read().step, last), last });
  /** @param {number} step */
  const go = (step) => set({ step, weights: [] });
  const walk = transport(at, go);
  const held = () => {
    const { weights } = read();
    const { own } = told.moments[at().step];
    if (weights.length !== own.length || Math.abs(total(weights) - 1) > 1e-6) return own;
    return weights;
  };
  let picked = -1; // a word that waits for its partner

  const choice = select(
    "sentence",
    model.get("sentences").map((one) => [one, one]),
    (text) => set({ text, step: 0, weights: [] }),
  );
  choice.value = model.get("text");
  const french_ = element("div", {
    class: "french",
    role: "group",
    lang: "fr",
    "aria-label": "what it writes: choose a word",
  });
  const tabs = told.target.map((id, i) => button("word", names[id], () => go(i)));
  french_.append(...tabs);
  const acts = [
    button("shuffle", "Shuffle", () => {
      const { seed } = read();
      set({ weights: shuffled(held(), seed), seed: seed + 1 });
    }),
    button("uniform", "All alike", () => set({ weights: source.map(() => 1 / source.length) })),
    button("seek", "Same word, other weights", () => {
      const { seed } = read();
      set({ weights: seek(told, at().step, seed), seed: seed + 1 });
    }),
    button("own", "Its own", () => set({ weights: [] })),
  ];
  const bars = source.map((word, j) => {
    const cells = ["own", "yours"].map((role) => {
      const fill = element("span", { class: "fill" });
      const number = element("b", { "data-role": role });
      return { fill, number, node: element("span", { class: "track" }, fill) };
    });
    const node = button("pick", "", () => pick(j));
    node.setAttribute("aria-description", "its own weight, then yours");
    node.append(
      element("span", { class: "name" }, word),
      ...cells.flatMap(({ node, number }) => [node, number]),
    );
    return { node, cells };
  });
  /** @param {number} j */
  function pick(j) {
    if (picked < 0 || picked === j) {
      picked = picked === j ? -1 : j;
      draw();
      return;
    }
    const weights = [...held()];
    [weights[picked], weights[j]] = [weights[j], weights[picked]];
    picked = -1;
    set({ weights });
  }
  const look = element(
    "div",
    { class: "look", role: "group", "aria-label": "weights: choose two words to exchange theirs" },
    element(
      "p",
      { class: "head" },
      "Attention weights: its own, then yours. Choose two words to exchange theirs.",
    ),
    ...bars.map(({ node }) => node),
  );
  const rows = element("div", { class: "said" });
  const figures = tiles(/** @type {const} */ (["moved", "apart"]));
  const table = scroller("the numbers", { hidden: true });
  const figure = element("div", { class: "both" }, look, rows);
  const node = frame(
    "other-weights",
    "Other weights, and the next word",
    at,
    walk.to,
    element("label", { class: "choose" }, "Sentence ", choice),
    french_,
    bar(...walk.nodes, tableButton(figure, table)),
    bar(...acts),
    say,
    figure,
    table,
    figures.node,
  );

  function draw() {
    const { step } = at();
    const moment = told.moments[step];
    const { own, p } = moment;
    const weights = held();
    const q = weights === own ? p : told.says(step, weights);
    tabs.forEach((tab, i) => current(tab, i === step));
    bars.forEach(({ node, cells }, j) => {
      [own[j], weights[j]].forEach((w, k) => {
        cells[k].fill.style.width = `${(100 * w).toFixed(1)}%`;
        show(cells[k].number, w);
      });
      press(node, j === picked);
    });
    grey(acts[3], weights === own);
    const order = likeliest(p, q);
    rows.replaceChildren(
      element("p", { class: "head" }, "What it writes: before, and now."),
      ...order.map((id) => {
        /** @param {string} role @param {number} x */
        const line = (role, x) => {
          const fill = element("span", { class: `fill${role === "now" ? " minus" : ""}` });
          fill.style.width = `${(100 * x).toFixed(1)}%`;
          const number = element("b", { "data-role": role, "data-value": x }, share(x));
          return [element("span", { class: "track" }, fill), number];
        };
        return element(
          "div",
          { class: "word", "data-id": id },
          element("span", { class: "name", lang: "fr" }, names[id]),
          ...line("before", p[id]),
          ...line("now", q[id]),
        );
      }),
    );
    figures.fill({
      moved: ["next word moves by (TV, at most 1)", variation(p, q), digits(variation(p, q), 3)],
      apart: [
        `weights differ by (JS, at most ${digits(Math.LN2)})`,
        divergence(own, weights),
        digits(divergence(own, weights), 3),
      ],
    });
    table.replaceChildren(
      tableOf(
        ["word read", "its own weight", "yours"],
        source.map((word, j) => [word, digits(own[j], 3), digits(weights[j], 3)]),
      ),
      tableOf(
        ["word written", "before", "now"],
        order.map((id) => [names[id], digits(p[id], 3), digits(q[id], 3)]),
      ),
    );
    walk.draw();
    say.textContent = sentence(source, names, moment, weights, q);
  }
  return { node, draw, stop: walk.stop };
}

export default widget(
  ["vocabularies", "machine", "sentences", "text"],
  ["step", "weights", "seed"],
  build,
  {
    text: (x, s) => s.sentences.includes(x),
    step: integer(0, limits.written),
    weights: (x) =>
      Array.isArray(x) && x.length <= limits.words + 1 && series(real(0, 1), x, x.length),
    seed: integer(0, 1e6),
  },
);
