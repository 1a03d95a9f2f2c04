// @ts-check
// The lattice of an RNN transducer: one path drawn by hand, all of them summed,
// and the posterior of the alignment. Python: lattice.py; the models:
// transducer.js and rnnsearch.js.

import limits from "./lattice.json" with { type: "json" };
import { tiles } from "./lib/chart.js";
import { among, integer, series } from "./lib/link.js";
import { within } from "./lib/maths.js";
import { END } from "./lib/recurrent.js";
import { unpackRows } from "./lib/rows.js";
import { digits, grouped, plain, quoted, share } from "./lib/text.js";
import {
  bar,
  button,
  change,
  checkbox,
  element,
  field,
  grey,
  press,
  root,
  scroller,
  select,
  svg,
  tableButton,
  tableOf,
  transport,
  voice,
  widget,
} from "./lib/view.js";
import { fit, lead, nodesOf, placesOf, taken, ways } from "./paths.js";
import { search } from "./rnnsearch.js";
import { backwardSums, bestPath, forwardSums, lay, logSum, posteriorOf } from "./transducer.js";

/** @typedef {Record<string, import("./lib/rows.js").Rows>} Packed */
/** @typedef {import("./lib/recurrent.js").Weights} Weights */
/** @typedef {"path" | "sum" | "where"} Mode */
/** @typedef {"posterior" | "search" | "best"} Map */
/** @typedef {{vocabularies: {source: string[], target: string[]}, sentences: string[],
 *   models: {cursors: Packed, rnnsearch: Packed}, text: string, mode: Mode, path: string,
 *   step: number, shown: Map[]}} State */
/** @typedef {import("./lib/view.js").Model<State>} Model */
/** @typedef {ReturnType<typeof examine>} Pair */

const FIRST = 4; // vocabulary.py: the number of a vocabulary's first word
const SPECIAL = ["<pad>", "<unk>", "<start>", "<end>"];
const LEAST = 8; // a node with α = 10⁻⁸ has no size

const KEYS = ["ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown", "Home", "End"];

/** @type {Record<Mode, string>} */
const HINTS = {
  path:
    "Drag through the lattice, or use the arrow keys: → is a blank, ↑ emits a word, ← takes back. " +
    "The heavier a line, the more probable that a path comes along it: α · p(move).",
  sum: "The size of a dot is α, from 10⁻⁸ to 1. A number, where there is room, is log α.",
  where:
    "Where each French word was emitted, by the transducer (left half) and by RNNsearch (right half). " +
    "The larger a square, the more probable the place.",
};

/** @type {[Map, string, string][]} */
const MAPS = [
  ["posterior", "posterior", "left half"],
  ["search", "RNNsearch’s attention", "right half"],
  ["best", "best path", "line"],
];

/** How many letters have to be changed, put in or left out.
 * @param {string} one @param {string} other */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, j) => j);
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j += 1) {
      const changed = row[j] + Number(letter !== other[j]);
      next.push(Math.min(changed, row[j + 1] + 1, next[j] + 1));
    }
    row = next;
  }
  return row[other.length];
}

/** A word that is not known, and known ones that are spelt like it.
 * @param {string} word @param {string[]} known */
function named(word, known) {
  const far = word.length > 3 ? 2 : Number(word.length > 1);
  const near = known.filter((one) => distance(word, one) <= far).slice(0, 2);
  const offered = near.map((one) => `“${one}”`).join(" or ");
  return `“${word}”${offered && ` (try ${offered})`}`;
}

/** The words that a reader typed, as the phrasebook cuts them, or what is
 * wrong with them.
 * @param {string} typed @param {string[]} known
 * @returns {{text?: string, problem?: string}} */
export function readSentence(typed, known) {
  const words = typed
    .replace(/[\u2019\u2018]/g, "'")
    .replace(/'s\b|[.,]/g, " $& ")
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => (known.includes(word) ? word : word.toLowerCase()));
  const strange = [...new Set(words.filter((word) => !known.includes(word)))];
  if (strange.length) {
    const unknown = strange.map((word) => named(word, known)).join(", ");
    return { problem: `These models know the ${known.length} words below, and not ${unknown}.` };
  }
  if (words.every((word) => word === ".")) return { problem: "Type at least one word." };
  if (words[words.length - 1] !== ".") words.push(".");
  if (words.length > limits.words) {
    return { problem: `At most ${limits.words} words, with the full stop, please.` };
  }
  return { text: words.join(" ") };
}

/** A sentence, its translation, and all that is computed of the two.
 * @param {{cursors: Weights, rnnsearch: Weights}} weights
 * @param {State["vocabularies"]} vocabularies @param {string} text */
export function examine(weights, vocabularies, text) {
  const words = text.split(" ");
  const ids = [...words.map((word) => FIRST + vocabularies.source.indexOf(word)), END];
  const how = { most: limits.written };
  const lattice = lay(weights.cursors, ids, how);
  const names = [...SPECIAL, ...vocabularies.target];
  const alpha = forwardSums(lattice);
  const best = bestPath(lattice);
  const [T, U] = [ids.length, lattice.target.length];
  /** @param {string} path */
  const map = (path) => placesOf(path).map((at) => ids.map((_, t) => Number(t === at)));
  /** @type {Record<Map, number[][]>} */
  const maps = {
    posterior: posteriorOf(lattice),
    search: search(weights.rnnsearch, ids, { given: lattice.target }).weights,
    best: map(best),
  };
  return {
    source: [...words, "<end>"],
    target: lattice.target.map((id) => names[id]),
    other: search(weights.rnnsearch, ids, how).target.map((id) => names[id]),
    lattice,
    alpha,
    beta: backwardSums(lattice),
    total: logSum(alpha[U]),
    best,
    maps,
    paths: ways(T, U),
    T,
    U,
  };
}

/** What a path comes to: log p of its moves, where it is, and of all paths
 * the share of those that begin so.
 * @param {Pair} pair @param {string} moves */
export function follow({ lattice, beta, total }, moves) {
  const log = taken(moves, lattice).reduce((a, b) => a + b, 0);
  const [t, u] = nodesOf(moves)[moves.length];
  return { log, t, u, share: Math.exp(log + beta[u][t] - total) };
}

/** What is done when the sum has come to a diagonal: the additions, the paths
 * that have ended, the sum of theirs.
 * @param {Pair} pair @param {number} d */
export function summed({ alpha, total, T, U }, d) {
  const ended = alpha[U].slice(0, Math.max(0, d - U + 1));
  let additions = 0;
  for (let u = 1; u <= U; u += 1) additions += within(0, d - u, T - 1);
  const log = logSum(ended);
  const paths = ended.length && ways(ended.length, U);
  return { additions, paths, log, share: Math.exp(log - total) };
}

/** A share of the whole. @param {number} x */
const percent = (x) => (x < 0.001 ? plain(x) : `${digits(100 * x, 1)} %`);

/** The place of the largest. @param {number[]} row */
const top = (row) => row.indexOf(Math.max(...row));

/** The state in words.
 * @param {Pair} pair @param {Mode} mode @param {string} moves @param {number} step */
export function sentence(pair, mode, moves, step) {
  const { source, target, lattice, alpha, best, T, U } = pair;
  if (mode === "where") {
    const [place, attended, on] = MAPS.map(([map], i) => {
      const row = pair.maps[map][step];
      return (
        quoted(source, top(row)) +
        (i < 2 ? ` with ${i ? "weight" : "probability"} ${digits(Math.max(...row))}` : "")
      );
    });
    return (
      `Word ${step + 1}, “${target[step]}”, was most probably emitted at ${place}; the best path ` +
      `emits it at ${on}. RNNsearch, given the same French, attends most to ${attended}.`
    );
  }
  if (mode === "sum") {
    const { additions, paths, log } = summed(pair, step);
    if (step === T - 1 + U) {
      return (
        `All ${grouped(paths)} paths are summed, with ${additions} additions: p(y | x) = ` +
        `${plain(Math.exp(log))}. The best path alone has ${percent(follow(pair, best).share)} of it.`
      );
    }
    const row = alpha.map((all, u) => all[step - u] ?? -Infinity);
    const u = top(row);
    return (
      `After ${step} moves, ${additions} additions so far: a node adds what comes from the left to what comes from below. ` +
      `The largest sum is α = ${plain(Math.exp(row[u]))}, at ` +
      `${quoted(source, step - u)}, with ${u} of ${U} words emitted.`
    );
  }
  const { log, t, u, share: part } = follow(pair, moves);
  if (u === U) {
    return (
      `A whole path: its probability is ${plain(Math.exp(log))}, ` +
      `${percent(part)} of the sum of all ${grouped(pair.paths)}.`
    );
  }
  const [w, s] = [Math.exp(lattice.write[u][t]), Math.exp(lattice.step[u][t])];
  return (
    `At ${quoted(source, t)}, ${u} of ${U} words emitted. Next: ` +
    `“${target[u]}” ${share(w)}, ` +
    `${t < T - 1 ? `blank ${share(s)}` : "no blank, the source is over"}, ` +
    `any other word ${share(Math.max(0, 1 - w - s))}.`
  );
}

/** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2
 * @param {string} kind @param {string} [style] */
const line = (x1, y1, x2, y2, kind, style = "") =>
  svg("line", { x1, y1, x2, y2, class: kind, style });

/** Every edge; it is the heavier, the more probable it is that a path takes it.
 * @param {Pair} pair @returns {SVGElement[]} */
function edges({ lattice: { write, step }, alpha, T, U }) {
  return write.flatMap((row, u) =>
    row.flatMap((y, t) => {
      const [x, down] = [t + 0.5, U - u + 0.5];
      /** Its root, so that a hundredth is still seen. @param {number} log */
      const strength = (log) => `--p:${Math.exp((alpha[u][t] + log) / 2).toFixed(3)}`;
      const up = line(x, down, x, down - 1, "edge", strength(y));
      if (t === T - 1) return [up];
      return [up, line(x, down, x + 1, down, "edge", strength(step[u][t]))];
    }),
  );
}

/** A path as a line. @param {string} moves @param {number} U @param {string} kind */
const trace = (moves, U, kind) =>
  svg("polyline", {
    class: kind,
    points: nodesOf(moves)
      .map(([t, u]) => `${t + 0.5},${U - u + 0.5}`)
      .join(" "),
  });

/** Every node as a dot; its size tells α where the sum has come.
 * @param {Pair} pair @param {number} [d] */
function dots({ alpha }, d = -1) {
  const U = alpha.length - 1;
  return alpha.flatMap((row, u) =>
    row.map((log, t) => {
      const size = t + u > d ? 0 : within(0, 1 + log / Math.LN10 / LEAST, 1);
      const [x, y] = [t + 0.5, U - u + 0.5];
      const kind = `dot${t + u === d ? " now" : ""}`;
      return line(x, y, x, y, kind, `--size:${size.toFixed(3)}`);
    }),
  );
}

/** Two maps in the halves of every square. @param {Pair} pair @param {Map[]} shown */
function squares({ maps, U }, shown) {
  /** @param {Map} map @param {number} side */
  const half = (map, side) =>
    maps[map].flatMap((row, u) =>
      row.flatMap((w, t) => {
        if (w < 0.005 || !shown.includes(map)) return [];
        const tall = 0.2 + 0.6 * Math.sqrt(w);
        const place = { x: t + side, y: U - u - tall / 2, width: 0.42, height: tall };
        return [
          svg("rect", { ...place, class: map, "fill-opacity": (0.25 + 0.75 * w).toFixed(3) }),
        ];
      }),
    );
  return [...half("posterior", 0.07), ...half("search", 0.51)];
}

/** The lattice, the words along its two sides.
 * @param {Pair} pair @param {(t: number, y: number, start: boolean) => void} point is told
 * where it is pointed, y counted from below */
function board(pair, point) {
  const { source, target, alpha, T, U } = pair;
  const picture = svg("svg", {
    viewBox: `0 0 ${T} ${U + 1}`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  /** @param {PointerEvent} event */
  const pointed = (event) => {
    const box = picture.getBoundingClientRect();
    const t = within(0, Math.floor(((event.clientX - box.left) / box.width) * T), T - 1);
    const y = ((box.bottom - event.clientY) / box.height) * (U + 1);
    point(t, within(0, y, U + 0.999), event.type === "pointerdown");
  };
  picture.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    picture.setPointerCapture(event.pointerId);
    pointed(event);
  });
  picture.addEventListener("pointermove", (event) => {
    if (picture.hasPointerCapture(event.pointerId)) pointed(event);
  });
  const [below, beside] = [source, target].map((words) =>
    words.map((word) => element("span", {}, word)),
  );
  const labels = element("div", { class: "written" }, ...beside);
  labels.lang = "fr";
  const web = edges(pair);
  const numbers = element("div", { class: "alphas", "aria-hidden": "true" });
  const node = element(
    "div",
    {
      class: "board",
      style: `--columns:${T};--rows:${U + 1}`,
      tabindex: 0,
      role: "group",
      "aria-label": `lattice: ${T} source words to the right, ${U} target words upwards`,
    },
    labels,
    element("div", { class: "field" }, picture, numbers),
    element("div", { class: "read" }, ...below),
  );
  /** The diagonal's numbers. @param {number} d */
  const tell = (d) =>
    alpha.flatMap((row, u) => {
      const log = row[d - u];
      if (log === undefined || log === -Infinity) return [];
      const style = `--t:${d - u};--u:${u}`;
      return [element("span", { style, "data-role": "alpha", "data-value": log }, digits(log, 1))];
    });
  return {
    node,
    /** @param {Mode} mode @param {string} moves @param {number} step @param {Map[]} shown */
    draw(mode, moves, step, shown) {
      node.dataset.mode = mode;
      const [t, u] = mode === "path" ? nodesOf(moves)[moves.length] : [-1, step];
      below.forEach((one, i) => one.classList.toggle("now", i === t));
      beside.forEach((one, i) => one.classList.toggle("now", mode !== "sum" && i === u));
      numbers.replaceChildren(...(mode === "sum" ? tell(step) : []));
      if (mode === "where") {
        const row = { x: 0, y: U - step - 0.5, width: T, height: 1, class: "row" };
        picture.replaceChildren(
          svg("rect", row),
          ...squares(pair, shown),
          ...(shown.includes("best") ? [trace(pair.best, U, "best")] : []),
        );
      } else {
        const head = line(t + 0.5, U - u + 0.5, t + 0.5, U - u + 0.5, "head");
        picture.replaceChildren(
          ...web,
          ...dots(pair, mode === "sum" ? step : -1),
          ...(mode === "path" ? [trace(moves, U, "path"), head] : []),
        );
      }
    },
  };
}

/** The state as a table. @param {Pair} pair @param {Mode} mode @param {string} moves
 * @param {Map[]} shown */
function tabled(pair, mode, moves, shown) {
  const { source, target, lattice, alpha } = pair;
  if (mode === "path") {
    const logs = taken(moves, lattice);
    let sum = 0;
    const rows = nodesOf(moves)
      .slice(0, moves.length)
      .map(([t, u], i) => {
        sum += logs[i];
        const what = moves[i] === "w" ? target[u] : "blank";
        return [`${i + 1}`, source[t], what, plain(Math.exp(logs[i])), digits(sum)];
      });
    return tableOf(["move", "at", "emits", "probability", "log p so far"], rows);
  }
  if (mode === "sum") {
    const rows = alpha.map((row, u) => [
      u ? target[u - 1] : "nothing",
      ...row.map((x) => plain(Math.exp(x))),
    ]);
    return tableOf(["α: emitted up to", ...source], rows);
  }
  const rows = MAPS.filter(([map]) => shown.includes(map)).flatMap(([map, name]) =>
    pair.maps[map].map((row, u) => [`${target[u]}, ${name}`, ...row.map((x) => digits(x))]),
  );
  return tableOf(["word, map", ...source], rows);
}

/** The sentence: one of those given, or the reader's own.
 * @param {Model} model */
function entry(model) {
  const [known, text] = [model.get("vocabularies").source, model.get("text")];
  const { problem, complain } = voice(model);
  /** @param {string} typed */
  const take = (typed) => {
    const { text: read, problem: what } = readSentence(typed, known);
    complain(what ? `${what} “${text}” stays.` : "");
    if (read) change(model, { text: read, path: "", step: 0 });
  };
  const given = model.get("sentences");
  const own = given.includes(text) ? [] : [text];
  /** @type {(one: string) => [string, string]} */
  const option = (one) => [one, one];
  const choose = select("sentence", [...given, ...own].map(option), take);
  choose.value = text;
  const box = field("text", { spellcheck: "false", autocapitalize: "none" }, take);
  box.value = text;
  return element(
    "div",
    {},
    element("label", { class: "choose" }, "sentence ", choose),
    element("label", { class: "choose" }, "or your own ", box),
    problem,
    element(
      "details",
      {},
      element("summary", {}, `The ${known.length} words that the models know`),
      element("p", {}, known.join(" ")),
    ),
  );
}

/** The whole widget, for one sentence. @param {Model} model */
function build(model) {
  const { cursors, rnnsearch } = model.get("models");
  const weights = { cursors: unpackRows(cursors), rnnsearch: unpackRows(rnnsearch) };
  const pair = examine(weights, model.get("vocabularies"), model.get("text"));
  const { T, U } = pair;
  const moves = () => fit(model.get("path"), T, U);
  const at = () => {
    const last = model.get("mode") === "sum" ? T - 1 + U : U - 1;
    return { step: within(0, model.get("step"), last), last };
  };
  /** @param {string} path */
  const go = (path) => change(model, { path: fit(path, T, U) });
  const walk = transport(at, (step) => change(model, { step }), 600);
  const figure = board(pair, (t, y, start) => {
    const mode = model.get("mode");
    if (mode === "path") {
      const path = lead(moves(), t, Math.floor(y), U);
      if (path !== moves()) go(path);
    } else if (start) walk.to(mode === "sum" ? t + Math.floor(y) : Math.round(y - 1));
  });
  /** @param {Mode} mode */
  const turn = (mode) => {
    walk.stop();
    change(model, { mode, step: 0 });
  };
  /** @type {[Mode, string][]} */
  const modes = [
    ["path", "One path"],
    ["sum", "All paths"],
    ["where", "Alignment"],
  ];
  const tabs = modes.map(([mode, name]) => button(mode, name, () => turn(mode)));
  const hand = [
    button("emit", "Emit ↑", () => go(`${moves()}w`)),
    button("blank", "Blank →", () => go(`${moves()}s`)),
    button("undo", "Undo", () => go(moves().slice(0, -1))),
    button("best", "Best path", () => go(pair.best)),
  ];
  const boxes = MAPS.map(([map]) =>
    checkbox(`show-${map}`, (on) => {
      const others = model.get("shown").filter((one) => one !== map);
      change(model, { shown: on ? [...others, map] : others });
    }),
  );
  const legend = bar(
    ...MAPS.map(([map, name, how], i) =>
      element("label", { class: map }, boxes[i], `${name} (${how})`),
    ),
  );
  const figures = tiles(/** @type {const} */ (["paths", "probability", "log", "share"]));
  const said = [pair.target, pair.other].map((words, i) => {
    const text = element("b", {}, words.slice(0, -1).join(" "));
    text.lang = "fr";
    return element(
      "p",
      { class: "said" },
      `${["The transducer writes", "RNNsearch writes"][i]}: `,
      text,
    );
  });
  const { say } = voice(model);
  const hint = element("p", { class: "hint" });
  const table = scroller("the numbers of this lattice", { hidden: true });
  const flip = tableButton(figure.node, table);
  const [byHand, byStep] = [bar(...hand), bar(...walk.nodes)];
  const node = root(
    "lattice",
    "Lattice of an RNN transducer",
    entry(model),
    ...said,
    element("div", { class: "bar", role: "group", "aria-label": "what is shown" }, ...tabs, flip),
    byHand,
    byStep,
    legend,
    hint,
    figure.node,
    table,
    say,
    figures.node,
  );
  node.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.matches("input:not([type=checkbox]), select, .scroll")) return;
    const key = KEYS.indexOf(event.key);
    if (key < 0) return;
    event.preventDefault();
    const [{ step, last }, now] = [at(), moves()];
    const back = now.slice(0, -1);
    if (model.get("mode") === "path") go([`${now}s`, `${now}w`, back, back, "", pair.best][key]);
    else walk.to([step + 1, step + 1, step - 1, step - 1, 0, last][key]);
  });
  return {
    node,
    stop: walk.stop,
    draw() {
      const [mode, now, { step }, shown] = [model.get("mode"), moves(), at(), model.get("shown")];
      tabs.forEach((tab, i) => press(tab, modes[i][0] === mode));
      [byHand.hidden, byStep.hidden] = [mode !== "path", mode === "path"];
      [legend.hidden, figures.node.hidden] = [mode !== "where", mode === "where"];
      boxes.forEach((box, i) => {
        box.checked = shown.includes(MAPS[i][0]);
      });
      figure.draw(mode, now, step, shown);
      walk.draw();
      const mine = follow(pair, now);
      const whole = mine.u === U;
      grey(hand[0], whole);
      grey(hand[1], whole || mine.t === T - 1);
      grey(hand[2], !now);
      const all = mode === "sum" && summed(pair, step);
      const { log, share } = all || mine;
      const [sum, begin] = [all ? "their sum" : "the path\u2019s probability", !all && !whole];
      const paths = all ? all.paths : pair.paths;
      figures.fill({
        paths: [all ? "paths that have ended" : "paths in all", paths, grouped(paths)],
        probability: [sum, Math.exp(log), plain(Math.exp(log))],
        log: ["its logarithm", log, log > -Infinity ? digits(log) : "\u2212∞"],
        share: [
          begin ? "share of all paths that begin like this" : "share of p(y | x)",
          share,
          percent(share),
        ],
      });
      table.replaceChildren(tabled(pair, mode, now, shown));
      hint.textContent = HINTS[mode];
      say.textContent = sentence(pair, mode, now, step);
    },
  };
}

export default widget(
  ["vocabularies", "models", "sentences", "text"],
  ["mode", "path", "step", "shown"],
  build,
  {
    text: (x, s) => readSentence(String(x), s.vocabularies.source).text === x,
    mode: among(["path", "sum", "where"]),
    path: (x) =>
      typeof x === "string" && /^[sw]*$/.test(x) && x.length <= limits.words + limits.written,
    step: integer(0, limits.words + limits.written),
    shown: (x) => series(among(MAPS.map(([map]) => map)), x, new Set(x).size),
  },
);
