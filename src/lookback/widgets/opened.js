// @ts-check
// The trained Transformer, opened: the reader's sentence at every station, each
// part with a switch, the logit lens, and patching. Python: opened.py.

import { unpack } from "./lib/half.js";
import { among, integer } from "./lib/link.js";
import { share } from "./lib/text.js";
import {
  bar,
  button,
  change,
  element,
  field,
  frame,
  press,
  select,
  transport,
  tune,
  voice,
  widget,
} from "./lib/view.js";
import { loaded, size, waking } from "./lib/waking.js";
import { serve } from "./lib/worker.js";
import facts from "./opened.json" with { type: "json" };
import { lensPane, patchPane, switchesPane, tourPane, walkPane } from "./panes.js";
import { picture } from "./stacks.js";
import { sentence, stationsOf } from "./stations.js";
import { tour } from "./tour.js";
import { opened } from "./tracer.js";

/** @typedef {import("./stations.js").Run} Run */
/** @typedef {{piece: string, p: number}[]} Likely */
/** @typedef {Omit<Run, "trace"> & {text: string, sentence: string, lens: Likely[][]}} Answer */
/** @typedef {{title: string, layers: number, heads: number, file: string, bytes: number,
 *   sha256: string}} Machine */
/** @typedef {{change: number, low: number, high: number, same: number}} Cost of a switch, in BLEU */
/** @typedef {{machines: Record<string, Machine>, answers: Answer[],
 *   first: Record<string, import("./lib/half.js").Packed>, presets: [string, string[]][],
 *   costs: Record<string, Cost>, captions: number, bleu: number, text: string, station: string, layer: number,
 *   head: number, source: number, target: number, mode: string, off: string[], other: string,
 *   tour: number}} State */
/** @typedef {import("./lib/view.js").Model<State>} Model */

const NAME = "tuned-en-fr";
const MODES = /** @type {const} */ ([
  ["walk", "Walk"],
  ["tour", "Tour"],
  ["switches", "Switches"],
  ["lens", "Logit lens"],
  ["patch", "Patching"],
]);
/** @type {ReturnType<typeof opened> | null} */
let machine = null;
/** What the worker does. */
export const SKILLS = {
  /** @param {import("./lib/waking.js").Brought} given */
  async wake(given) {
    machine = opened(await loaded(given));
    return true;
  },
  /** @param {{what: "trace" | "switched" | "lens" | "patch" | "terms"} & Record<string, any>} given
   *   any: as each of them says */
  ask({ what, ...asked }) {
    if (!machine) throw new Error("The machine is asleep.");
    return machine[what](/** @type {any} */ (asked));
  },
};
serve(SKILLS);

/** The whole widget. @param {Model} model @param {() => State} read */
function build(model, read) {
  const { layers, heads } = model.get("machines")[NAME];
  const all = stationsOf(layers);
  const { say, problem, complain, set } = voice(model);
  const news = element("p", { class: "news", "data-role": "news", role: "status" });
  const progress = element("progress", {
    max: 1,
    value: 0,
    hidden: true,
    "aria-label": "weights fetched",
  });
  const {
    ask,
    stop,
    wake,
    wanted: asked,
  } = waking(model, (text, part) => {
    news.textContent = text;
    progress.hidden = part === undefined;
    progress.value = part ?? 0;
  });

  /** What the picture shows. @type {{key: string, run: Run}} */
  let known = { key: "", run: beginning() };
  const bets = /** @type {Map<string, number>} */ (new Map()); // by sentence and switches
  /** What is asked for and has not come, by kind. @type {Map<string, string>} */
  const wanted = new Map();
  const keyOf = (/** @type {{text: string, off: string[]}} */ { text, off }) =>
    JSON.stringify([text, off]);
  /** What is switched off in the picture: nothing, before the reader has bet. */
  const offNow = () => (bets.has(keyOf(read())) ? read().off : []);
  const nowKey = () => keyOf({ text: read().text, off: offNow() });
  known.key = keyOf({ ...read(), text: model.get("answers")[0].text, off: [] });

  /** The example that has come with the page. @returns {Run} */
  function beginning() {
    /** @type {import("./tracer.js").Trace} */
    const trace = {};
    for (const [name, { shape, numbers }] of Object.entries(unpack(model.get("first"))))
      trace[name] = { shape, data: Float32Array.from(numbers) };
    return { ...model.get("answers")[0], trace };
  }
  /** An example's answer, if the text is one. @param {string} text */
  const answered = (text) => model.get("answers").find((one) => one.text === text);

  /** Asks for what is wanted and not known; `then` is told, if nothing else of the
   * kind has been wanted meanwhile. @param {string} what @param {object} given
   * @param {(answer: any) => void} then any: as tracer.js says
   * @param {() => void} [failed] */
  async function want(what, given, then, failed = () => {}) {
    const mine = JSON.stringify(given);
    if (wanted.get(what) === mine) return;
    wanted.set(what, mine);
    node.setAttribute("aria-busy", "true");
    const over = () => {
      if (wanted.get(what) !== mine) return false;
      wanted.delete(what);
      if (wanted.size === 0) node.removeAttribute("aria-busy");
      return true;
    };
    try {
      await wake(NAME);
      const answer = await ask("ask", { what, ...given });
      if (over()) then(answer);
    } catch (error) {
      if (!over()) return;
      failed();
      complain(error instanceof Error ? error.message : String(error));
    }
  }

  /** Goes to another sentence, or wakes the machine. @param {string} text */
  const go = (text) => {
    complain("");
    if (text !== read().text) change(model, { text, source: 0, target: 0 });
    retrace(true);
  };
  let tried = ""; // what could not be had: it is not asked for again unasked
  /** Asks for a trace, if the picture lacks what the state shows.
   * @param {boolean} [always] the reader wants it */
  function retrace(always = false) {
    const { text, station, layer } = read();
    const [off, key] = [offNow(), nowKey()];
    const { trace } = known.run;
    const there = trace[station] || station === "decoder.probabilities";
    const whole = there && trace[`decoder.${layer}.cross.norm`];
    if (!always && ((known.key === key && whole) || tried === key)) return;
    const example = off.length ? undefined : answered(text);
    if (!always && example && known.key !== key && !asked(NAME)) {
      known = { key, run: { ...example, trace: {} } };
      return;
    }
    const [before] = JSON.parse(known.key);
    want(
      "trace",
      { text, off },
      (answer) => {
        tried = "";
        known = { key, run: answer };
        draw();
      },
      () => {
        tried = key;
        if (text !== before) change(model, { text: before });
      },
    );
  }

  const box = field("text", { class: "sentence", lang: "en", spellcheck: "false" }, () => {});
  box.onkeydown = (event) => {
    if (event.key === "Enter") go(box.value);
  };
  const start = button("translate", "Translate", () => go(box.value));
  const examples = select(
    "example",
    [
      ["", "examples"],
      ...model.get("answers").map(({ text }) => /** @type {[string, string]} */ ([text, text])),
    ],
    (text) => {
      if (text) set({ text, source: 0, target: 0 });
    },
  );
  examples.setAttribute("aria-label", "example sentences");
  const french = element("p", {
    class: "french",
    lang: "fr",
    "data-role": "french",
    role: "group",
    "aria-label": "translation",
  });
  const modes = MODES.map(([mode, title]) => button(`mode-${mode}`, title, () => set({ mode })));
  const atStep = () =>
    Math.max(
      0,
      all.findIndex((one) => one.name === read().station),
    );
  const at = () => ({
    step: atStep(),
    last: all.length - 1,
  });
  /** @param {number} step */
  const to = (step) => {
    const { name, layer } = all[step];
    set({ station: name, layer: layer < 0 ? 0 : Math.min(layer, layers - 1) });
  };
  const walk = transport(at, to, 900);
  const layerButtons = Array.from({ length: layers }, (_, i) =>
    button(
      "layer",
      String(i + 1),
      () => {
        const now = all[at().step];
        const there = now.part ? now.name.replace(`.${now.layer}.`, `.${i}.`) : now.name;
        set({ layer: i, station: there });
      },
      `layer ${i + 1}`,
    ),
  );
  const headButtons = Array.from({ length: heads }, (_, i) =>
    button("head", String(i + 1), () => set({ head: i }), `head ${i + 1}`),
  );
  const view = picture(
    all,
    (changes) => {
      set(changes);
      // On a phone the pane stands above the picture, far from the finger.
      const { top, bottom } = pane.getBoundingClientRect();
      if (bottom < 0 || top > innerHeight) pane.scrollIntoView({ block: "nearest" });
    },
    (side, at) => {
      const other = read().mode === "tour" && all[atStep()].columns !== side;
      const station = other ? `${side}.embedding` : read().station;
      set({ [side === "encoder" ? "source" : "target"]: at, station });
    },
  );

  /** @type {import("./panes.js").Desk} */
  const desk = {
    read,
    set,
    draw: () => draw(),
    want,
    retrace,
    heads,
    linked: Boolean(/** @type {any} */ (model).files),
    bets,
    keyOf,
    offNow,
    nowKey,
    answered,
  };
  const lens = lensPane(desk);
  /** @type {Record<string, import("./panes.js").Pane>} */
  const panes = {
    tour: tourPane(desk),
    walk: walkPane(desk, lens.known),
    switches: switchesPane(desk),
    lens,
    patch: patchPane(desk),
  };
  const pane = element("div", { class: "pane" }, ...Object.values(panes).map((one) => one.node));
  const stage = element("div", { class: "stage" }, pane, view.node);
  const steps = element(
    "span",
    { class: "modes", role: "group", "aria-label": "walk" },
    ...walk.nodes,
  );
  const node = frame(
    "opened",
    "The Transformer, opened",
    at,
    walk.to,
    bar(element("label", { class: "typed" }, "English ", box), start, examples),
    problem,
    news,
    progress,
    french,
    bar(
      element("span", { class: "modes", role: "group", "aria-label": "what to do" }, ...modes),
      steps,
      element(
        "span",
        { class: "pager", role: "group", "aria-label": "layer" },
        "layer ",
        ...layerButtons,
      ),
      element(
        "span",
        { class: "pager", role: "group", "aria-label": "head" },
        "head ",
        ...headButtons,
      ),
    ),
    say,
    stage,
  );
  // Space goes on in the tour; in the panes a button keeps it, elsewhere Enter presses.
  node.addEventListener("keydown", (event) => {
    if (event.key !== " " || read().mode !== "tour") return;
    const target = /** @type {Element} */ (event.target);
    if (target.matches("input, select, summary") || target.closest(".panel")) return;
    event.preventDefault();
    panes.tour.node.querySelector('[data-action="on"]')?.dispatchEvent(new MouseEvent("click"));
  });

  /** Where the focus is among the controls of its kind, to find it again. */
  function held() {
    const now = /** @type {HTMLElement | null} */ (document.activeElement);
    const box = now && [french, pane].find((one) => one.contains(now));
    if (!now || !box || now.matches("input")) return null;
    const kind = `[data-action="${now.dataset.action}"]`;
    const find = () => /** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll(kind));
    const { name } = now.dataset;
    const at = [...find()].indexOf(now);
    return () => {
      if (box.contains(document.activeElement)) return;
      const named = name && [...find()].find((one) => one.dataset.name === name);
      const heir = named || find()[at] || pane.querySelector("button");
      /** @type {HTMLElement | null} */ (heir)?.focus({ preventScroll: true });
    };
  }
  let toured = -1;
  function draw() {
    const refocus = held();
    drawAll();
    refocus?.();
    // The tour's text may be below the screen.
    const stop_ = read().mode === "tour" ? read().tour : -1;
    if (stop_ !== toured && stop_ >= 0 && node.isConnected)
      panes.tour.node.scrollIntoView({ block: "nearest", behavior: "instant" });
    toured = stop_;
  }
  function drawAll() {
    const state = read();
    const { text, mode } = state;
    retrace();
    const { run } = known;
    const fits = known.key === nowKey();
    const within_ = inside();
    const station = all[at().step];
    if (document.activeElement !== box) box.value = text;
    const { bytes } = state.machines[NAME];
    start.textContent = asked(NAME) ? "Translate" : `Load the Transformer (${size(bytes)})`;
    examples.value = "";
    french.replaceChildren(
      ...run.steps.map(({ piece, p }, r) => {
        const chip = button(
          "word",
          piece,
          () => set({ target: r }),
          `${piece}, probability ${share(p)}`,
        );
        tune(chip, "--v", p);
        chip.title = `p = ${share(p)}`;
        press(chip, r === within_.target);
        return chip;
      }),
    );
    node.classList.toggle("stale", !fits);
    modes.forEach((one, i) => press(one, MODES[i][0] === mode));
    layerButtons.forEach((one, i) => press(one, i === state.layer));
    headButtons.forEach((one, i) => press(one, i === state.head));
    steps.hidden = !["walk", "tour", "patch"].includes(mode);
    say.hidden = steps.hidden;
    view.draw(run, within_, station);
    say.textContent = sentence(station, run, within_);
    walk.draw();
    const open = mode === "tour" ? ["tour", "walk"] : [mode];
    for (const [name, one] of Object.entries(panes)) {
      one.node.hidden = !open.includes(name);
      if (open.includes(name)) one.draw(within_, station, run);
    }
  }
  /** The state, its tokens among those that there are. @returns {State} */
  function inside() {
    const [state, { source, target }] = [read(), known.run];
    return {
      ...state,
      source: Math.min(state.source, source.length - 1),
      target: Math.min(state.target, target.length - 1),
    };
  }
  const repaint = () => {
    view.forget();
    draw();
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", repaint);
  const theme = new MutationObserver(repaint);
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const resized = new ResizeObserver(() => view.draw(known.run, inside(), all[at().step]));
  resized.observe(stage);
  return {
    node,
    draw,
    stop() {
      theme.disconnect();
      dark.removeEventListener("change", repaint);
      resized.disconnect();
      walk.stop();
      stop();
    },
  };
}

/** @param {any} x any: of a link */
const isText = (x) => typeof x === "string" && x.length <= facts.letters;
export default widget(
  ["machines"],
  [
    "answers",
    "first",
    "presets",
    "costs",
    "captions",
    "bleu",
    "text",
    "station",
    "layer",
    "head",
    "source",
    "target",
    "mode",
    "off",
    "other",
    "tour",
  ],
  build,
  {
    text: isText,
    other: isText,
    station: (x, s) => stationsOf(s.machines[NAME].layers).some((one) => one.name === x),
    layer: integer(0, (s) => s.machines[NAME].layers - 1),
    head: integer(0, (s) => s.machines[NAME].heads - 1),
    source: integer(0, 50),
    target: integer(0, 110),
    mode: among(MODES.map(([mode]) => mode)),
    off: (x, s) => Array.isArray(x) && x.every((one) => Object.hasOwn(s.costs, one)),
    tour: integer(0, tour.length - 1),
  },
);
