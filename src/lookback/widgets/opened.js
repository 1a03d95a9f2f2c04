// @ts-check
// The trained Transformer, opened: the reader's sentence at every station, each
// part with a switch, the logit lens, and patching. Python: opened.py.

import { fetched, plainBytes, right } from "./lib/fetched.js";
import { unpack } from "./lib/half.js";
import { inflate, readMachine } from "./lib/int8.js";
import { among, integer } from "./lib/link.js";
import { digits, share } from "./lib/text.js";
import {
  bar,
  button,
  change,
  current,
  element,
  field,
  frame,
  press,
  put,
  scroller,
  select,
  svg,
  tableOf,
  transport,
  tune,
  voice,
  widget,
} from "./lib/view.js";
import { helper, serve } from "./lib/worker.js";
import facts from "./opened.json" with { type: "json" };
import {
  changed,
  headOf,
  outcome,
  PARTS,
  rowOf,
  shapeOf,
  stationsOf,
  vectorOf,
  worked,
} from "./stations.js";
import { tour } from "./tour.js";
import { opened } from "./tracer.js";

/** @typedef {import("./stations.js").Station} Station */
/** @typedef {import("./stations.js").Run} Run */
/** @typedef {import("./stations.js").Side} Side */
/** @typedef {import("./tracer.js").Tensor} Tensor */
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
const BETS = [
  "the same translation",
  "the same words in another order",
  "some other words",
  "mostly other words",
];
const GLOBAL = [
  ["positions", "positions"],
  ["scaling", "scaling by 1/√d_k"],
  ["mask", "causal mask"],
  ["encoder.norm", "encoder’s last norm"],
  ["decoder.norm", "decoder’s last norm"],
];

/** @type {ReturnType<typeof opened> | null} */
let machine = null;
/** What the worker does. */
export const SKILLS = {
  /** @param {{data: string | ArrayBuffer, wanted: import("./lib/fetched.js").Wanted}} given */
  async wake({ data, wanted }) {
    const file = plainBytes(data);
    if (!(await right(file, wanted))) {
      throw new Error("The weights are damaged: their digest is not the one this page knows.");
    }
    machine = opened(readMachine(await inflate(file)));
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

/** Fetches the machine once it is wanted. @param {Model} model
 * @param {(text: string, part?: number) => void} report */
function asking(model, report) {
  const wanted = model.get("machines")[NAME];
  const worker = helper(/** @type {string} */ (/** @type {any} */ (model).get("_esm")));
  /** @type {Promise<unknown> | null} */
  let awake = null;
  async function rouse() {
    const what = `The weights of the Transformer, ${(wanted.bytes / 1e6).toFixed(1)} MB: `;
    report(`${what}asked for.`, 0);
    const data = await fetched(model, wanted, (part) =>
      report(`${what}${Math.round(100 * part)}%.`, part),
    );
    await worker.ask("wake", { data, wanted });
    report("");
  }
  return {
    stop: () => worker.stop(),
    awake: () => awake !== null,
    /** @param {string} what @param {object} asked @returns {Promise<any>} any: as SKILLS says */
    async ask(what, asked) {
      awake ??= rouse();
      try {
        await awake;
        return await worker.ask("ask", { what, ...asked });
      } catch (error) {
        report("");
        if (!worker.alive()) awake = null;
        else await awake?.catch(() => (awake = null));
        throw error;
      }
    },
  };
}

/** Colours of the page as the browser resolves them, [r, g, b] of 0 to 255.
 * @param {HTMLElement} probe @param {string[]} names */
function palette(probe, names) {
  const canvas = element("canvas");
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  /** @type {Record<string, number[]>} */
  const found = {};
  for (const name of names) {
    probe.style.color = `var(--${name})`;
    if (!pen) continue;
    pen.fillStyle = getComputedStyle(probe).color;
    pen.fillRect(0, 0, 1, 1);
    found[name] = [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  }
  return found;
}

/** Paints one number a dot. @param {HTMLCanvasElement} canvas @param {number} width
 * @param {number} height @param {(x: number, y: number) => [colour: number[], part: number]} of
 * @param {number[]} ground */
function paint(canvas, width, height, of, ground) {
  [canvas.width, canvas.height] = [width, height];
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const image = pen.createImageData(width, height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const [colour, part] = of(x, y);
      const at = 4 * (y * width + x);
      for (let c = 0; c < 3; c += 1)
        image.data[at + c] = ground[c] + (colour[c] - ground[c]) * Math.min(1, Math.max(0, part));
      image.data[at + 3] = 255;
    }
  }
  pen.putImageData(image, 0, 0);
}

const HUES = /** @type {Partial<Record<string, string>>} */ ({
  q: "q",
  k: "k",
  v: "value",
  hidden: "good",
  logits: "good",
  probabilities: "good",
});
const LEGEND =
  "Each column is a token. Blue is above 0, orange below; queries, keys and values have hues of their own; purple is an attention weight, green a unit that is on, a logit, a probability.";
const BANDS = 32; // of a vector's numbers, each drawn by its largest

/** Vectors, a column each. @param {HTMLCanvasElement} canvas @param {Tensor} tensor
 * @param {string} kind @param {Record<string, number[]>} colours */
function paintVectors(canvas, { shape: [count, size], data }, kind, colours) {
  const bands = Math.min(BANDS, size);
  const rows = Array.from({ length: count }, (_, x) =>
    Array.from({ length: bands }, (_, y) => {
      let largest = 0;
      for (
        let k = Math.floor((y * size) / bands);
        k < Math.floor(((y + 1) * size) / bands);
        k += 1
      ) {
        const one = data[x * size + k];
        if (Math.abs(one) > Math.abs(largest)) largest = one;
      }
      return largest;
    }),
  );
  const scale = Math.max(1e-9, ...rows.flat().map(Math.abs));
  paint(
    canvas,
    count,
    bands,
    (x, y) => [
      colours[rows[x][y] < 0 ? "minus" : (HUES[kind] ?? "high")],
      Math.sqrt(Math.abs(rows[x][y]) / scale),
    ],
    colours.cell,
  );
}

/** One station's small picture, a button.
 * @param {(column: number | null, row: number) => void} chosen @param {string} kind
 * @param {(column: number | null, row: number) => void} hovered */
function thumb(chosen, kind, hovered) {
  const canvas = element("canvas", { "aria-hidden": "true" });
  /** The dot below the pointer. @param {MouseEvent} event @returns {[number, number]} */
  const dot = ({ clientX, clientY }) => {
    const box = canvas.getBoundingClientRect();
    const at = (/** @type {number} */ share, /** @type {number} */ count) =>
      Math.min(count - 1, Math.max(0, Math.floor(share * count)));
    return [
      at((clientX - box.left) / (box.width || 1), canvas.width),
      at((clientY - box.top) / (box.height || 1), canvas.height),
    ];
  };
  canvas.onpointermove = (event) => hovered(...dot(event));
  canvas.onpointerleave = () => hovered(null, 0);
  const name = element("span", { class: "name" });
  const node = element(
    "button",
    {
      type: "button",
      class: `thumb of-${kind}`,
      "data-action": "station",
      onclick(event) {
        const [column, row] = dot(event);
        chosen(event.detail > 0 ? column : null, row); // by keyboard no column
      },
    },
    element("span", { class: "sheet" }, canvas, element("i", { class: "here" })),
    name,
  );
  return { node, canvas, name };
}

/** The two stacks: every station of one layer of each, and what is below and above.
 * @param {Station[]} all @param {(changes: Partial<State>) => void} set
 * @param {(side: Side, at: number) => void} chosen a token */
function picture(all, set, chosen) {
  /** @typedef {{kind: string, of: (layer: number) => Station, parts: ReturnType<typeof thumb>[]}} Place */
  /** @type {Place[]} */
  const places = [];
  /** @param {(layer: number) => Station} of @param {number} [copies] heads */
  const place = (of, copies = 1) => {
    const { kind } = of(0);
    const parts = Array.from({ length: copies }, (_, head) =>
      thumb(
        (column, row) => {
          const station = of(place_.layer);
          const at = station.columns === "encoder" ? "source" : "target";
          const map = kind === "weights";
          /** @type {Partial<State>} */
          const changes = { station: station.name, layer: place_.layer };
          if (map) changes.head = head;
          // The first click opens a station, the next one chooses a token in it.
          const open = parts[head].node.getAttribute("aria-current") === "step";
          if (column !== null && open) changes[at] = map ? row : column;
          set(changes);
        },
        kind,
        (column, row) => hover(of(place_.layer), head, column, row),
      ),
    );
    places.push({ kind, of, parts });
    return parts.map((one) => one.node);
  };
  const place_ = { layer: 0 };
  const readout = element("p", { class: "readout" }, LEGEND);
  /** Lights a token's column everywhere, and a weight's two ends.
   * @param {Station} station @param {number} head @param {number | null} column
   * @param {number} row */
  function hover({ name, kind, side, part, columns }, head, column, row) {
    const map = kind === "weights";
    const keys = part === "cross" || side === "encoder" ? "encoder" : "decoder";
    /** @type {Record<string, number[]>} */
    const lit = { encoder: [], decoder: [] };
    if (column !== null) {
      lit[map ? keys : columns].push(column);
      if (map) lit[side].push(row);
    }
    for (const [which, bar_] of Object.entries(tokens)) {
      [...bar_.children].forEach((chip, i) =>
        chip.classList.toggle("over", lit[which].includes(i)),
      );
      node.style.setProperty(`--over-${which}`, String(lit[which][0] ?? -9));
    }
    node.classList.toggle("hovered", column !== null);
    readout.textContent = LEGEND;
    const run = painted.run;
    if (column === null || !run) return;
    const words = { encoder: run.source, decoder: run.target };
    if (!map) readout.textContent = `${facts.stations[kind][0]} of “${words[columns][column]}”`;
    else if (run.trace[name]) {
      const weight = rowOf(run.trace, name, head, row)[column];
      readout.textContent = `head ${head + 1}: “${words[side][row]}” attends to “${words[keys][column]}”, weight ${share(weight)}`;
    }
  }
  /** @param {string} side @param {string | null} part @param {string} kind */
  const find = (side, part, kind) => (/** @type {number} */ layer) =>
    /** @type {Station} */ (
      all.find(
        (one) =>
          one.side === side &&
          one.part === part &&
          one.kind === kind &&
          (part === null || one.layer === layer),
      )
    );
  /** @type {Record<string, HTMLElement>} */
  const tokens = {};
  /** @param {string} side */
  function stack(side) {
    const of = (/** @type {string | null} */ part, /** @type {string} */ kind, copies = 1) =>
      place(find(side, part, kind), copies);
    /** @param {"attention" | "cross"} part @param {string} title */
    const attention = (part, title) =>
      element(
        "div",
        { class: "block", "data-part": part },
        element("p", { class: "title" }, title),
        element(
          "div",
          { class: "lane" },
          ...of(part, "norm"),
          ...of(part, "q"),
          ...of(part, "k"),
          ...of(part, "v"),
        ),
        element("div", { class: "lane maps" }, ...of(part, "weights", 4)),
        element(
          "div",
          { class: "lane" },
          ...of(part, "heads"),
          ...of(part, "out"),
          ...of(part, "stream"),
        ),
      );
    tokens[side] = element("div", {
      onkeydown(event) {
        const step = Number(event.key === "ArrowRight") - Number(event.key === "ArrowLeft");
        const chips = /** @type {HTMLElement[]} */ ([...tokens[side].children]);
        const to = chips[chips.indexOf(/** @type {HTMLElement} */ (event.target)) + step];
        if (!step || !to) return;
        event.preventDefault();
        event.stopPropagation();
        to.click();
        to.focus();
      },
      "data-roving": "tokens",
      class: "tokens",
      role: "group",
      "aria-label": `${side} tokens`,
    });
    return element(
      "div",
      { class: `stack ${side}` },
      element("p", { class: "side" }, side === "encoder" ? "Encoder" : "Decoder"),
      tokens[side],
      element("div", { class: "lane" }, ...of(null, "embedding"), ...of(null, "position")),
      attention("attention", side === "encoder" ? "Self-attention" : "Masked self-attention"),
      ...(side === "decoder" ? [attention("cross", "Cross-attention")] : []),
      element(
        "div",
        { class: "block", "data-part": "feedforward" },
        element("p", { class: "title" }, "Feed-forward"),
        element(
          "div",
          { class: "lane" },
          ...of("feedforward", "norm"),
          ...of("feedforward", "hidden"),
          ...of("feedforward", "inner"),
          ...of("feedforward", "stream"),
        ),
      ),
      side === "encoder"
        ? element(
            "div",
            { class: "lane end" },
            ...of(null, "memory"),
            element(
              "p",
              { class: "over" },
              "→ keys and values of cross-attention, in every decoder layer",
            ),
          )
        : element(
            "div",
            { class: "lane end" },
            ...of(null, "last"),
            ...of(null, "logits"),
            ...of(null, "probabilities"),
          ),
    );
  }
  const [encoder, decoder] = [stack("encoder"), stack("decoder")];
  const ribbons = svg("svg", { class: "ribbons", "aria-hidden": "true" });
  const node = element(
    "div",
    { class: "model", "data-roving": "stations" },
    encoder,
    decoder,
    ribbons,
    readout,
  );
  const probe = element("i", { hidden: true });
  node.append(probe);

  /** @type {Record<string, number[]> | null} until the theme changes */
  let colours = null;
  /** @type {{run: Run | null, layer: number, scores: string}} */
  let painted = { run: null, layer: -1, scores: "" };
  /** @param {Run} run @param {number} layer @param {string} scores whose maps show them */
  function repaint(run, layer, scores) {
    if (!colours) {
      probe.hidden = false;
      colours = palette(probe, [
        "cell",
        "edge",
        "high",
        "minus",
        "q",
        "k",
        "value",
        "weight",
        "good",
      ]);
      probe.hidden = true;
    } else if (painted.run === run && painted.layer === layer && painted.scores === scores) return;
    painted = { run, layer, scores };
    const paints = colours;
    for (const { kind, of, parts } of places) {
      const station = of(layer);
      const tensor = run.trace[station.name];
      parts.forEach(({ canvas, node, name }, head) => {
        const [title, , , , , short] = facts.stations[station.kind];
        const label = kind === "weights" ? `head ${head + 1}` : title;
        name.textContent = kind === "weights" ? label : (short ?? title);
        node.dataset.station = station.name;
        node.setAttribute("aria-label", `${name.textContent}: ${where(station)}`);
        node.classList.toggle("empty", !tensor && kind !== "probabilities");
        if (kind === "probabilities") {
          paint(
            canvas,
            run.steps.length,
            5,
            (x, y) => [paints.good, run.steps[x].rivals[y]?.p ?? 0],
            paints.cell,
          );
        } else if (!tensor) paint(canvas, 1, 1, () => [paints.cell, 1], paints.cell);
        else if (station.name.replace("weights", "scores") === scores) {
          const { shape, data } = run.trace[scores];
          const most = Math.max(1e-9, ...data.filter(Number.isFinite).map(Math.abs));
          const of_ = (/** @type {number} */ x, /** @type {number} */ y) =>
            data[(head * shape[1] + y) * shape[2] + x];
          paint(
            canvas,
            shape[2],
            shape[1],
            (x, y) =>
              Number.isFinite(of_(x, y))
                ? [paints[of_(x, y) < 0 ? "minus" : "high"], Math.sqrt(Math.abs(of_(x, y)) / most)]
                : [paints.edge, 0.6],
            paints.cell,
          );
        } else if (kind === "weights") {
          const [, rows, columns] = tensor.shape;
          paint(
            canvas,
            columns,
            rows,
            (x, y) => [paints.weight, Math.sqrt(tensor.data[(head * rows + y) * columns + x])],
            paints.cell,
          );
        } else paintVectors(canvas, tensor, kind, paints);
      });
    }
  }

  /** Ribbons from the values to the chosen token's head output, as wide as the weights.
   * @param {Run} run @param {Station} station @param {State} state */
  function weave(run, station, { layer, head, source, target }) {
    ribbons.replaceChildren();
    const { part, side } = station;
    if (part !== "attention" && part !== "cross") return;
    const weights = `${side}.${layer}.${part}.weights`;
    if (!run.trace[weights]) return;
    const sheet = (/** @type {string} */ kind) =>
      node.querySelector(`[data-station="${side}.${layer}.${part}.${kind}"] canvas`);
    const [from, to] = [sheet("v"), sheet("heads")];
    if (!from || !to) return;
    const base = node.getBoundingClientRect();
    const [a, b] = [from.getBoundingClientRect(), to.getBoundingClientRect()];
    const at = side === "encoder" ? source : target;
    const row = rowOf(run.trace, weights, head, at);
    const columns =
      side === "encoder" || part === "attention"
        ? run[side === "encoder" ? "source" : "target"]
        : run.source;
    const rows = side === "encoder" ? run.source.length : run.target.length;
    put(ribbons, {
      viewBox: `0 0 ${base.width} ${base.height}`,
      width: base.width,
      height: base.height,
    });
    const end = [b.left - base.left + ((at + 0.5) * b.width) / rows, b.top - base.top];
    row.forEach((weight, j) => {
      if (weight < 0.02) return;
      const start = [
        a.left - base.left + ((j + 0.5) * a.width) / columns.length,
        a.bottom - base.top,
      ];
      const half = (end[1] - start[1]) / 2;
      ribbons.append(
        svg(
          "path",
          {
            d: `M${start[0]} ${start[1]}C${start[0]} ${start[1] + half} ${end[0]} ${end[1] - half} ${end[0]} ${end[1]}`,
            "stroke-width": Math.max(1, 9 * weight),
          },
          svg("title", {}, `${columns[j]}: ${share(weight)}`),
        ),
      );
    });
  }

  let laid = "";
  return {
    node,
    /** Other colours: all is painted again. */
    forget() {
      colours = null;
    },
    /** @param {Run} run @param {State} state @param {Station} station */
    draw(run, state, station) {
      place_.layer = state.layer;
      repaint(run, state.layer, station.kind === "scores" ? station.name : "");
      const key = JSON.stringify([run.source, run.target]);
      if (laid !== key) {
        laid = key;
        for (const [side, words] of /** @type {const} */ ([
          ["encoder", run.source],
          ["decoder", run.target],
        ])) {
          tokens[side].replaceChildren(
            ...words.map((piece, at) => {
              const chip = button("token", "", () => chosen(side, at), piece);
              chip.append(element("span", {}, piece));
              chip.onpointerenter = () => {
                node.style.setProperty(`--over-${side}`, String(at));
                node.classList.add("hovered");
              };
              chip.onpointerleave = () => {
                node.style.setProperty(`--over-${side}`, "-9");
                node.classList.remove("hovered");
              };
              chip.lang = side === "encoder" ? "en" : "fr";
              return chip;
            }),
          );
        }
      }
      const marks = {
        "--s": state.source,
        "--ns": run.source.length,
        "--t": state.target,
        "--nt": run.target.length,
      };
      for (const [name, value] of Object.entries(marks))
        node.style.setProperty(name, String(value));
      for (const [side, at] of /** @type {const} */ ([
        ["encoder", state.source],
        ["decoder", state.target],
      ])) {
        [...tokens[side].children].forEach((one, i) => {
          press(one, i === at);
          /** @type {HTMLElement} */ (one).tabIndex = i === at ? 0 : -1;
        });
      }
      for (const { parts, of, kind } of places) {
        parts.forEach((one, head) => {
          const { name } = of(state.layer);
          const scores = kind === "weights" && station.kind === "scores";
          const here =
            name === station.name || (scores && name === station.name.replace("scores", "weights"));
          const now = here && (kind !== "weights" || head === state.head);
          current(one.node, now);
          one.node.tabIndex = now ? 0 : -1;
          const walked = node.contains(document.activeElement);
          if (now && walked && document.activeElement?.matches(".thumb")) one.node.focus();
        });
      }
      weave(run, station, state);
    },
  };
}

/** A station's whereabouts, in words. @param {Station} station */
export function where({ side, layer, part, kind }) {
  const what = facts.stations[kind][0];
  const in_ = side === "encoder" ? "Encoder" : "Decoder";
  return part ? `${in_}, layer ${layer + 1}, ${PARTS[part]}: ${what}` : `${in_}: ${what}`;
}

/** The step in words. @param {Station} station @param {Run} run @param {State} state */
export function sentence(station, run, state) {
  const at = station.columns === "encoder" ? state.source : state.target;
  const word = (station.columns === "encoder" ? run.source : run.target)[at];
  const { kind, side, part } = station;
  const lead = `${where(station)}, for “${word}”.`;
  if (kind === "weights" && run.trace[station.name]) {
    const row = rowOf(run.trace, station.name, state.head, at);
    const best = row.indexOf(Math.max(...row));
    const keys = part === "cross" || side === "encoder" ? run.source : run.target;
    return `${lead} Head ${state.head + 1} attends most to “${keys[best]}”, weight ${digits(row[best])}.`;
  }
  if (kind === "probabilities") {
    const { rivals } = run.steps[at];
    return `${lead} The likeliest next piece is “${rivals[0].piece}”, probability ${share(rivals[0].p)}.`;
  }
  return lead;
}

/** Words, those of `fresh` marked. @param {string} text @param {boolean[]} fresh */
const marked = (text, fresh) =>
  text.split(" ").flatMap((word, i) => [fresh[i] ? element("mark", {}, word) : word, " "]);

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
  const { ask, stop, awake } = asking(model, (text, part) => {
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
   * kind has been wanted meanwhile. @param {string} what @param {object} asked
   * @param {(answer: any) => void} then any: as tracer.js says
   * @param {() => void} [failed] */
  async function want(what, asked, then, failed = () => {}) {
    const mine = JSON.stringify(asked);
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
      const answer = await ask(what, asked);
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
  /** @param {boolean} [always] */
  function retrace(always = false) {
    const { text } = read();
    const off = offNow();
    const key = nowKey();
    const here = all.find((one) => one.name === read().station);
    const missing =
      !known.run.trace[read().station] && read().station !== "decoder.probabilities" && here;
    const layer = !known.run.trace[`decoder.${read().layer}.cross.norm`];
    if (known.key === key && !missing && !layer && !always) return;
    if (known.key !== key && !awake() && answered(text) && off.length === 0 && !always) {
      known = { key, run: { .../** @type {Answer} */ (answered(text)), trace: {} } };
      draw();
      return;
    }
    const shown = JSON.parse(known.key);
    want(
      "trace",
      { text, off },
      (answer) => {
        known = { key, run: answer };
        draw();
      },
      () => change(model, { text: shown[0], off: [] }),
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

  const panels = /** @type {Record<string, HTMLElement>} */ (
    Object.fromEntries(
      MODES.map(([mode]) => [mode, element("div", { class: `panel ${mode}`, "data-panel": mode })]),
    )
  );
  const pane = element("div", { class: "pane" }, ...Object.values(panels));
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
    panels.tour.querySelector('[data-action="on"]')?.dispatchEvent(new MouseEvent("click"));
  });

  /** @param {State} state @param {Station} station @param {Run} run */
  function drawWalk(state, station, run) {
    const index = station.columns === "encoder" ? state.source : state.target;
    const words = station.columns === "encoder" ? run.source : run.target;
    const [title, equation, file, line, chapter] = facts.stations[station.kind];
    const known_ = run.trace[station.name] || station.kind === "probabilities";
    const chapters = /** @type {any} */ (model).files
      ? element("a", {}, chapter)
      : element("span", {}, chapter);
    if (chapters instanceof HTMLAnchorElement) chapters.href = `${chapter}.html`;
    panels.walk.replaceChildren(
      element("p", { class: "head" }, where(station)),
      element("p", { class: "equation", "data-role": "equation" }, equation),
      element(
        "p",
        { class: "shape" },
        known_
          ? `${title} of “${words[index]}”: ${shapeOf(station, run, heads)}`
          : "Load the Transformer to see this station’s numbers.",
      ),
      ...(known_
        ? [
            element(
              "ul",
              { class: "worked" },
              ...[
                ...worked(station, run, index, state.head, heads),
                ...saidBy(station, run, index),
              ].map((one) => element("li", {}, one)),
            ),
            numbers(station, run, index, state.head),
          ]
        : [button("wake", "Load the Transformer", () => retrace(true))]),
      element(
        "p",
        { class: "code" },
        element("code", {}, line),
        element("small", {}, ` src/lookback/${file}; chapter `, chapters),
      ),
    );
  }

  /** What the output matrix would say of a stream, where the lens is known.
   * @param {Station} station @param {Run} run @param {number} index */
  function saidBy({ name, side, kind }, run, index) {
    const table =
      lensed.key === nowKey()
        ? lensed.table
        : offNow().length
          ? null
          : answered(run.text ?? "")?.lens;
    const level =
      kind === "position"
        ? 0
        : Number(name.match(/^decoder\.(\d)\.feedforward\.stream$/)?.[1] ?? NaN) + 1;
    const best = side === "decoder" ? table?.[level]?.[index]?.[0] : undefined;
    return best
      ? [`Through the output matrix: “${best.piece}”, ${share(best.p)} (logit lens)`]
      : [];
  }

  /** The numbers of one token at a station, as bars. @param {Station} station @param {Run} run
   * @param {number} index @param {number} head */
  function numbers(station, run, index, head) {
    const { kind, part, side, name } = station;
    if (kind === "probabilities") {
      return rows(
        run.steps[index].rivals.map(({ piece, p }) => [piece, p, share(p)]),
        1,
        "good",
      );
    }
    if (kind === "scores" || kind === "weights") {
      const keys = part === "cross" || side === "encoder" ? run.source : run.target;
      const row = Array.from(rowOf(run.trace, name, head, index));
      const most =
        kind === "weights" ? 1 : Math.max(1e-9, ...row.filter(Number.isFinite).map(Math.abs));
      return rows(
        keys.map((piece, j) => [
          piece,
          Number.isFinite(row[j]) ? row[j] : 0,
          Number.isFinite(row[j]) ? digits(row[j], kind === "weights" ? 3 : 2) : "masked",
        ]),
        most,
        "weight",
      );
    }
    if (kind === "logits") {
      const x = vectorOf(run.trace, name, index);
      return rows(
        run.steps[index].rivals.map(({ piece }, i) => {
          const order = Array.from(x.keys()).sort((a, b) => x[b] - x[a]);
          return [piece, x[order[i]], digits(x[order[i]])];
        }),
        Math.max(...x),
        "good",
      );
    }
    const whole = vectorOf(run.trace, name, index);
    const own = ["q", "k", "v", "heads"].includes(kind) ? headOf(whole, head, heads) : whole;
    const first = own === whole ? 0 : head * own.length;
    const most = Math.max(1e-9, ...Array.from(own, Math.abs));
    const told = element(
      "p",
      { class: "told", role: "status" },
      "Choose a number to see what it is made of.",
    );
    const bars = element("div", {
      class: `bars of-${kind}`,
      role: "group",
      "aria-label": "numbers",
    });
    own.forEach((x, k) => {
      const cell = element("i", { title: `${first + k + 1}: ${digits(x, 3)}`, "data-value": x });
      tune(cell, "--v", x / most);
      bars.append(cell);
    });
    bars.onpointermove = ({ clientX }) => {
      const box = bars.getBoundingClientRect();
      const k = Math.min(
        own.length - 1,
        Math.max(0, Math.floor((own.length * (clientX - box.left)) / box.width)),
      );
      told.textContent = `Number ${first + k + 1}: ${digits(own[k], 3)}`;
    };
    bars.onclick = ({ clientX }) => {
      const box = bars.getBoundingClientRect();
      explain(
        station,
        run,
        index,
        first +
          Math.min(
            own.length - 1,
            Math.max(0, Math.floor((own.length * (clientX - box.left)) / box.width)),
          ),
        told,
      );
    };
    const largest = Array.from(own.keys()).sort((a, b) => Math.abs(own[b]) - Math.abs(own[a]))[0];
    const table = element("details", {}, element("summary", {}, "As a table"));
    table.addEventListener("toggle", () => {
      if (table.open && table.children.length === 1) table.append(scroller("numbers"));
      table.children[1]?.replaceChildren(
        tableOf(
          ["number", "value"],
          Array.from(own, (x, k) => [String(first + k + 1), digits(x, 3)]),
        ),
      );
    });
    return element(
      "div",
      {},
      bars,
      told,
      button("terms", `Largest number, ${first + largest + 1}: what is it made of?`, () =>
        explain(station, run, index, first + largest, told),
      ),
      table,
    );
  }

  /** What one number is the sum of. @param {Station} station @param {Run} run @param {number} index
   * @param {number} row @param {HTMLElement} told */
  function explain(station, run, index, row, told) {
    const { kind, side, layer, part } = station;
    const path = `${side}.${layer}.${part}`;
    /** @type {Record<string, [string, string]>} */
    const made = {
      q: ["W_Q", `${path}.norm`],
      k: ["W_K", part === "cross" ? "encoder.norm" : `${path}.norm`],
      v: ["W_V", part === "cross" ? "encoder.norm" : `${path}.norm`],
      out: ["W_O", `${path}.heads`],
      hidden: ["W_1", `${path}.norm`],
      inner: ["W_2", `${path}.hidden`],
    };
    const value = digits(vectorOf(run.trace, station.name, index)[row], 3);
    if (!made[kind]) {
      told.textContent = `Number ${row + 1}: ${value}`;
      return;
    }
    const [matrix, from] = made[kind];
    if (!run.trace[from]) return retrace(true);
    want(
      "terms",
      { weight: `${path}.${matrix}`, row, x: Array.from(vectorOf(run.trace, from, index)) },
      ({ bias, sum, terms, rest, more }) => {
        const shown = terms.map(
          (/** @type {{w: number, x: number}} */ one) => `${digits(one.w)} · ${digits(one.x)}`,
        );
        told.textContent = `Number ${row + 1} = ${shown.join(" + ")} + ${digits(rest)} + ${digits(bias)} = ${digits(sum, 3)}: the five largest terms, weight · input; the ${more} others; the bias.`;
      },
    );
  }

  /** Names with bars. @param {[name: string, value: number, text: string][]} all @param {number} most
   * @param {string} hue */
  function rows(all, most, hue) {
    return element(
      "ul",
      { class: `rows ${hue}` },
      ...all.map(([name, value, text]) => {
        const fill = element("i", { class: value < 0 ? "minus" : "" });
        tune(fill, "--v", Math.abs(value) / most);
        return element(
          "li",
          { "data-value": value },
          element("span", {}, name),
          element("b", {}, fill),
          element("span", {}, text),
        );
      }),
    );
  }

  /** @param {State} state */
  function drawTour(state) {
    const stop_ = tour[Math.min(state.tour, tour.length - 1)];
    const done = stop_.done(state);
    const on = button("on", state.tour === tour.length - 1 ? "Begin again" : "Go on (Space)", () =>
      set({ tour: state.tour === tour.length - 1 ? 0 : state.tour + 1 }),
    );
    const back = button("back", "Back", () => set({ tour: Math.max(0, state.tour - 1) }));
    panels.tour.replaceChildren(
      element(
        "p",
        { class: "head" },
        `${Math.min(state.tour + 1, tour.length)} of ${tour.length}: ${stop_.title}`,
      ),
      element("p", {}, stop_.text),
      element("p", { class: "ask" }, stop_.ask),
      element(
        "p",
        { class: `answer ${done ? "good" : ""}`, role: "status" },
        done ? stop_.answer : "",
      ),
      bar(
        back,
        button("take-me", "Take me there", () => set(/** @type {Partial<State>} */ (stop_.go))),
        on,
      ),
    );
  }

  /** @type {{key: string, answer: any}} any: tracer.switched's */
  let compared = { key: "", answer: null };
  /** @param {string} title @param {string} name @param {string} [label] */
  function toggle(title, name, label = title) {
    const state = read();
    const out = state.off.includes(name);
    const node = button(
      "switch",
      title,
      () => {
        const off = out ? state.off.filter((one) => one !== name) : [...state.off, name];
        set({ off });
      },
      `${label}: ${out ? "off" : "on"}`,
    );
    node.dataset.name = name;
    press(node, out);
    node.classList.toggle("out", out);
    const cost = state.costs[name];
    if (cost) node.title = `${digits(cost.change, 1)} BLEU on ${state.captions} captions`;
    return node;
  }
  /** @param {State} state */
  function drawSwitches(state) {
    const { off, text, layer, costs } = state;
    const presets = state.presets.map(([title, names]) => {
      const on = names.length === off.length && names.every((one) => off.includes(one));
      const one = button("preset", title, () => set({ off: on ? [] : names }));
      one.dataset.name = title;
      press(one, on);
      const cost = costs[title];
      if (cost) one.append(element("small", {}, ` ${digits(cost.change, 1)}`));
      return one;
    });
    const parts = /** @type {[string, string][]} */ ([
      [`encoder.${layer}.attention`, "enc. self-attention"],
      [`encoder.${layer}.feedforward`, "enc. feed-forward"],
      [`decoder.${layer}.attention`, "dec. self-attention"],
      [`decoder.${layer}.cross`, "cross-attention"],
      [`decoder.${layer}.feedforward`, "dec. feed-forward"],
    ]);
    const grid = element(
      "table",
      { class: "switchboard" },
      element(
        "caption",
        {},
        `Parts of layer ${layer + 1}; press to switch off. all: the whole sublayer, 1 to 4: a head, + x: the residual connection, LN: its LayerNorm`,
      ),
      element(
        "tbody",
        {},
        ...parts.map(([path, title]) =>
          element(
            "tr",
            {},
            element("th", { scope: "row" }, title),
            element(
              "td",
              {},
              toggle("all", path, `${title}, whole`),
              ...(path.endsWith("forward")
                ? []
                : Array.from({ length: heads }, (_, h) =>
                    toggle(String(h + 1), `${path}.head.${h}`, `${title}, head ${h + 1}`),
                  )),
              toggle("+ x", `${path}.residual`, `${title}, residual connection`),
              toggle("LN", `${path}.norm`, `${title}, LayerNorm`),
            ),
          ),
        ),
      ),
    );
    const key = JSON.stringify([text, off]);
    const bet = bets.get(key);
    const result = element("div", { class: "result" });
    if (off.length) {
      const known_ = state.presets.find(
        ([, names]) => names.length === off.length && names.every((one) => off.includes(one)),
      );
      const cost = costs[known_ ? known_[0] : off.length === 1 ? off[0] : ""];
      result.append(
        element(
          "p",
          { class: "head" },
          `${off.length} ${off.length === 1 ? "part is" : "parts are"} off. What will the translation be?`,
        ),
        bar(
          ...BETS.map((title, i) => {
            const one = button("bet", title, () => {
              bets.set(key, i);
              draw();
            });
            press(one, bet === i);
            return one;
          }),
        ),
      );
      if (bet !== undefined) {
        if (compared.key === key) {
          const { own, other, before, after } = compared.answer;
          const [a, b] = [own.sentence.split(" "), other.sentence.split(" ")];
          const { fresh } = changed(a, b);
          const truth = outcome(a, b);
          const sum = (/** @type {number[]} */ x) => x.reduce((total, one) => total + one, 0);
          const worst = before
            .map((/** @type {number} */ one, /** @type {number} */ i) => [i, one - after[i]])
            .sort((/** @type {number[]} */ x, /** @type {number[]} */ y) => y[1] - x[1])
            .filter((/** @type {number[]} */ [, lost]) => lost > 0.1)
            .slice(0, 3);
          result.append(
            element(
              "p",
              { class: truth === bet ? "good" : "bad", "data-role": "verdict", role: "status" },
              truth === bet ? `Right: ${BETS[truth]}.` : `It is ${BETS[truth]}.`,
            ),
            element("p", { lang: "fr", class: "soft" }, own.sentence),
            element(
              "p",
              { lang: "fr", "data-role": "switched" },
              ...marked(other.sentence || "(nothing)", fresh),
            ),
            element(
              "p",
              { "data-role": "log-p" },
              `The untouched translation has log-probability ${digits(sum(before))}; with these parts off, ${digits(sum(after))}.${worst.length ? " Most is lost at " : ""}${worst.map((/** @type {number[]} */ [i]) => `“${own.steps[i].piece}” (${share(Math.exp(before[i]))} → ${share(Math.exp(after[i]))})`).join(", ")}.`,
            ),
          );
        } else {
          want("switched", { text, off }, (answer) => {
            compared = { key, answer };
            draw();
          });
          result.append(element("p", {}, "Translating …"));
        }
        if (cost)
          result.append(
            element(
              "p",
              { class: "cost" },
              `On ${state.captions} validation captions: ${digits(cost.change, 1)} BLEU (${digits(cost.low, 1)} to ${digits(cost.high, 1)}); ${cost.same} translations stay the same.`,
            ),
          );
      }
      result.append(button("all-on", "Switch everything on again", () => set({ off: [] })));
    }
    panels.switches.replaceChildren(
      element(
        "p",
        { class: "head" },
        `Six stories, and what each changes in BLEU, a score of translations from 0 to 100; untouched ${digits(state.bleu, 1)}:`,
      ),
      element("div", { class: "bar presets" }, ...presets),
      result,
      grid,
      element(
        "div",
        { class: "bar presets" },
        ...GLOBAL.map(([name, title]) => toggle(title, name)),
      ),
    );
  }

  /** @type {{key: string, table: Likely[][], run: Run | null}} */
  let lensed = { key: "", table: [], run: null };
  /** @param {State} state */
  function drawLens(state) {
    const off = offNow();
    const key = nowKey();
    const plain_ = off.length === 0 ? answered(state.text) : null;
    const table = lensed.key === key ? lensed.table : plain_?.lens;
    if (!table) {
      panels.lens.replaceChildren(element("p", {}, "Translating …"));
      return void want("lens", { text: state.text, off }, (answer) => {
        lensed = { key, table: answer.table, run: answer };
        draw();
      });
    }
    const { steps, target } = /** @type {Omit<Run, "trace">} */ (
      lensed.key === key ? lensed.run : plain_
    );
    panels.lens.replaceChildren(
      element(
        "p",
        { class: "head" },
        "What the output matrix would say of the decoder’s residual stream, after each layer:",
      ),
      element(
        "div",
        { class: "scroll lens-table", tabindex: 0, role: "region", "aria-label": "logit lens" },
        element(
          "table",
          {},
          element(
            "thead",
            {},
            element(
              "tr",
              {},
              element("th", {}, "reads, after layer"),
              ...table.map((_, level) =>
                element("th", { scope: "col" }, level ? String(level) : "0"),
              ),
            ),
          ),
          element(
            "tbody",
            {},
            ...steps.map((step, r) =>
              element(
                "tr",
                { "aria-selected": String(r === state.target) },
                element("th", { scope: "row", lang: "fr" }, target[r]),
                ...table.map((words) => {
                  const [best, ...more] = words[r];
                  const cell = element(
                    "td",
                    {
                      lang: "fr",
                      "data-value": best.p,
                      title: more.map(({ piece, p }) => `${piece} ${share(p)}`).join(", "),
                      onclick: () => set({ target: r }),
                    },
                    best.piece,
                    element("small", {}, digits(best.p)),
                  );
                  tune(cell, "--v", best.p);
                  cell.classList.toggle("final", best.piece === step.piece);
                  return cell;
                }),
              ),
            ),
          ),
        ),
      ),
      element(
        "p",
        { class: "soft" },
        "A row for each column of the decoder; level 0 is the embedded token. Framed: the piece that is written in the end.",
      ),
    );
  }

  /** @type {{key: string, answer: any}} any: tracer.patch's */
  let carried = { key: "", answer: null };
  const other = field("other", { lang: "en", spellcheck: "false" }, (text) => set({ other: text }));
  /** @param {State} state @param {Station} station @param {Run} run */
  function drawPatch(state, station, run) {
    const fits = station.kind === "stream" || station.kind === "heads";
    const at_ = station.side === "encoder" ? state.source : state.target;
    const name =
      station.kind === "heads"
        ? `${station.name.replace(/\.heads$/, "")}.head.${state.head}`
        : station.name;
    const asked = { text: state.text, other: state.other, name, position: at_ };
    const key = JSON.stringify(asked);
    if (document.activeElement !== other) other.value = state.other;
    const word = (station.side === "encoder" ? run.source : run.target)[at_];
    const result = element("div", { class: "result" });
    if (carried.key === key) {
      const { own, other: now, before, after, from } = carried.answer;
      const { fresh } = changed(own.sentence.split(" "), now.sentence.split(" "));
      const moved = before.map((/** @type {number} */ one, /** @type {number} */ i) => [
        i,
        one,
        after[i],
      ]);
      moved.sort(
        (/** @type {number[]} */ x, /** @type {number[]} */ y) =>
          Math.abs(y[1] - y[2]) - Math.abs(x[1] - x[2]),
      );
      result.append(
        element("p", {}, "it came from: ", element("span", { lang: "fr" }, from.sentence)),
        element("p", {}, "before: ", element("span", { lang: "fr" }, own.sentence)),
        element(
          "p",
          { "data-role": "patched" },
          "after: ",
          element("span", { lang: "fr" }, ...marked(now.sentence, fresh)),
        ),
        element(
          "p",
          { class: "soft" },
          "Probability of each piece of the untouched translation, the untouched pieces before it given; the four that change most:",
        ),
        tableOf(
          ["piece", "before", "after"],
          moved
            .slice(0, 4)
            .map((/** @type {number[]} */ [i, a, b]) => [
              own.steps[i].piece,
              share(Math.exp(a)),
              share(Math.exp(b)),
            ]),
        ),
      );
    }
    panels.patch.replaceChildren(
      element("p", { class: "head" }, "Carry one vector from another sentence into yours."),
      element("label", { class: "typed" }, "the other sentence ", other),
      element(
        "p",
        {},
        fits
          ? `Chosen: ${where(station)}${station.kind === "heads" ? `, head ${state.head + 1} alone` : ""}, at piece ${at_ + 1}, “${word}”.`
          : "Choose a residual stream, or the concatenated heads and a head, in the picture; then a token.",
      ),
      ...(fits
        ? [
            button("carry", "Carry it over", () =>
              want("patch", asked, (answer) => {
                carried = { key, answer };
                draw();
              }),
            ),
          ]
        : []),
      result,
    );
  }

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
      panels.tour.scrollIntoView({ block: "nearest", behavior: "instant" });
    toured = stop_;
  }
  function drawAll() {
    const state = read();
    const { text, mode } = state;
    retrace();
    const { run } = known;
    const fits = known.key === nowKey();
    const within_ = {
      ...state,
      source: Math.min(state.source, run.source.length - 1),
      target: Math.min(state.target, run.target.length - 1),
    };
    const station = all[at().step];
    if (document.activeElement !== box) box.value = text;
    start.textContent = awake()
      ? "Translate"
      : `Load the Transformer (${(state.machines[NAME].bytes / 1e6).toFixed(1)} MB)`;
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
    const walking = mode === "walk" || mode === "tour";
    for (const [name, panel] of Object.entries(panels))
      panel.hidden = name !== mode && !(name === "walk" && mode === "tour");
    steps.hidden = !walking && mode !== "patch";
    say.hidden = steps.hidden;
    view.draw(run, within_, station);
    say.textContent = sentence(station, run, within_);
    walk.draw();
    if (walking) drawWalk(within_, station, run);
    if (mode === "tour") drawTour(within_);
    if (mode === "switches") drawSwitches(within_);
    if (mode === "lens") drawLens(within_);
    if (mode === "patch") drawPatch(within_, station, run);
  }
  const repaint = () => {
    view.forget();
    draw();
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", repaint);
  const theme = new MutationObserver(repaint);
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const resized = new ResizeObserver(() =>
    view.draw(
      known.run,
      {
        ...read(),
        source: Math.min(read().source, known.run.source.length - 1),
        target: Math.min(read().target, known.run.target.length - 1),
      },
      all[at().step],
    ),
  );
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
    off: (x) =>
      Array.isArray(x) &&
      x.length <= 200 &&
      x.every((one) => typeof one === "string" && one.length < 40),
    tour: integer(0, tour.length - 1),
  },
);
