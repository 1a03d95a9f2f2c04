// @ts-check
// The panes of the opened Transformer, beside its picture: what a station holds,
// the tour, the switches with their bet, the logit lens, patching.
import { within } from "./lib/maths.js";
import { digits, share } from "./lib/text.js";
import { bar, button, element, field, press, scroller, tableOf, tune } from "./lib/view.js";
import facts from "./opened.json" with { type: "json" };
import { changed, headOf, outcome, rowOf, shapeOf, vectorOf, where, worked } from "./stations.js";
import { tour } from "./tour.js";

/** @typedef {import("./stations.js").Station} Station */
/** @typedef {import("./stations.js").Run} Run */
/** @typedef {import("./opened.js").State} State */
/** @typedef {import("./opened.js").Answer} Answer */
/** @typedef {import("./opened.js").Likely} Likely */
/** What the panes ask of the widget: its state, and its worker.
 * @typedef {{read: () => State, set: (changes: Partial<State>) => void, draw: () => void,
 *   want: (what: string, asked: object, then: (answer: any) => void) => void,
 *   retrace: (always?: boolean) => void, heads: number, linked: boolean,
 *   bets: Map<string, number>, keyOf: (asked: {text: string, off: string[]}) => string,
 *   offNow: () => string[], nowKey: () => string,
 *   answered: (text: string) => Answer | undefined}} Desk any: as tracer.js says */
/** @typedef {{node: HTMLElement, draw: (state: State, station: Station, run: Run) => void}} Pane */

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

/** @param {string} mode */
const panel = (mode) => element("div", { class: `panel ${mode}`, "data-panel": mode });

/** Words, those of `fresh` marked. @param {string} text @param {boolean[]} fresh */
const marked = (text, fresh) =>
  text.split(" ").flatMap((word, i) => [fresh[i] ? element("mark", {}, word) : word, " "]);

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

/** What a station holds for the chosen token. @param {Desk} desk
 * @param {() => Likely[][] | null} lensed the lens of what the picture shows @returns {Pane} */
export function walkPane(desk, lensed) {
  const { want, retrace, heads } = desk;
  const node = panel("walk");

  /** @param {State} state @param {Station} station @param {Run} run */
  function draw(state, station, run) {
    const index = station.columns === "encoder" ? state.source : state.target;
    const words = station.columns === "encoder" ? run.source : run.target;
    const [title, equation, file, line, chapter] = facts.stations[station.kind];
    const known_ = run.trace[station.name] || station.kind === "probabilities";
    const chapters = desk.linked ? element("a", {}, chapter) : element("span", {}, chapter);
    if (chapters instanceof HTMLAnchorElement) chapters.href = `${chapter}.html`;
    node.replaceChildren(
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
              ...[...worked(station, run, index, state.head, heads), ...saidBy(station, index)].map(
                (one) => element("li", {}, one),
              ),
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
   * @param {Station} station @param {number} index */
  function saidBy({ name, side, kind }, index) {
    const table = lensed();
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
    return bars(station, run, index, head);
  }

  /** A vector of numbers, or one head's part of it, each to ask about.
   * @param {Station} station @param {Run} run @param {number} index @param {number} head */
  function bars(station, run, index, head) {
    const { kind, name } = station;
    const whole = vectorOf(run.trace, name, index);
    const own = ["q", "k", "v", "heads"].includes(kind) ? headOf(whole, head, heads) : whole;
    const first = own === whole ? 0 : head * own.length;
    const most = Math.max(1e-9, ...Array.from(own, Math.abs));
    const told = element(
      "p",
      { class: "told", role: "status" },
      "Choose a number to see what it is made of.",
    );
    const strip = element("div", {
      class: `bars of-${kind}`,
      role: "group",
      "aria-label": "numbers",
    });
    own.forEach((x, k) => {
      const cell = element("i", { title: `${first + k + 1}: ${digits(x, 3)}`, "data-value": x });
      tune(cell, "--v", x / most);
      strip.append(cell);
    });
    /** The number below the pointer. @param {MouseEvent} event */
    const below = ({ clientX }) => {
      const { left, width } = strip.getBoundingClientRect();
      return within(0, Math.floor((own.length * (clientX - left)) / width), own.length - 1);
    };
    strip.onpointermove = (event) => {
      const k = below(event);
      told.textContent = `Number ${first + k + 1}: ${digits(own[k], 3)}`;
    };
    strip.onclick = (event) => explain(station, run, index, first + below(event), told);
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
      strip,
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

  return { node, draw };
}

/** The guided tour. @param {Desk} desk @returns {Pane} */
export function tourPane({ set }) {
  const node = panel("tour");
  /** @param {State} state */
  function draw(state) {
    const stop_ = tour[Math.min(state.tour, tour.length - 1)];
    const done = stop_.done(state);
    const on = button("on", state.tour === tour.length - 1 ? "Begin again" : "Go on (Space)", () =>
      set({ tour: state.tour === tour.length - 1 ? 0 : state.tour + 1 }),
    );
    const back = button("back", "Back", () => set({ tour: Math.max(0, state.tour - 1) }));
    node.replaceChildren(
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
  return { node, draw };
}

/** Parts that are switched off, and a bet before the answer. @param {Desk} desk @returns {Pane} */
export function switchesPane({ set, draw: redraw, want, bets, keyOf, heads }) {
  const node = panel("switches");
  /** @type {{key: string, answer: any}} any: tracer.switched's */
  let compared = { key: "", answer: null };
  /** @param {string[]} names @param {string[]} off */
  const same = (names, off) =>
    names.length === off.length && names.every((one) => off.includes(one));

  /** @param {State} state @param {string} title @param {string} name @param {string} [label] */
  function toggle({ off, costs, captions }, title, name, label = title) {
    const out = off.includes(name);
    const next = out ? off.filter((one) => one !== name) : [...off, name];
    const one = button(
      "switch",
      title,
      () => set({ off: next }),
      `${label}: ${out ? "off" : "on"}`,
    );
    one.dataset.name = name;
    press(one, out);
    one.classList.toggle("out", out);
    const cost = costs[name];
    if (cost) one.title = `${digits(cost.change, 1)} BLEU on ${captions} captions`;
    return one;
  }

  /** The six stories. @param {State} state */
  const stories = ({ presets, costs, off }) =>
    presets.map(([title, names]) => {
      const on = same(names, off);
      const one = button("preset", title, () => set({ off: on ? [] : names }));
      one.dataset.name = title;
      press(one, on);
      if (costs[title]) one.append(element("small", {}, ` ${digits(costs[title].change, 1)}`));
      return one;
    });

  /** A row for each sublayer of the layer. @param {State} state */
  function board(state) {
    const { layer } = state;
    const parts = [
      [`encoder.${layer}.attention`, "enc. self-attention"],
      [`encoder.${layer}.feedforward`, "enc. feed-forward"],
      [`decoder.${layer}.attention`, "dec. self-attention"],
      [`decoder.${layer}.cross`, "cross-attention"],
      [`decoder.${layer}.feedforward`, "dec. feed-forward"],
    ];
    const count = (/** @type {string} */ path) => (path.endsWith("forward") ? 0 : heads);
    const rows = parts.map(([path, title]) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, title),
        element(
          "td",
          {},
          toggle(state, "all", path, `${title}, all`),
          ...Array.from({ length: count(path) }, (_, h) =>
            toggle(state, `${h + 1}`, `${path}.head.${h}`, `${title}, head ${h + 1}`),
          ),
          toggle(state, "+ x", `${path}.residual`, `${title}, residual connection, + x`),
          toggle(state, "LN", `${path}.norm`, `${title}, LayerNorm, LN`),
        ),
      ),
    );
    return element(
      "table",
      { class: "switchboard" },
      element(
        "caption",
        {},
        `Parts of layer ${layer + 1}; press to switch off. all: the whole sublayer, 1 to 4: a head, + x: the residual connection, LN: its LayerNorm`,
      ),
      element("tbody", {}, ...rows),
    );
  }

  /** What became of the translation, and of the bet. @param {number} bet */
  function verdict(bet) {
    const { own, other, before, after } = compared.answer;
    const [a, b] = [own.sentence.split(" "), other.sentence.split(" ")];
    const truth = outcome(a, b);
    const sum = (/** @type {number[]} */ x) => x.reduce((total, one) => total + one, 0);
    const lost = before
      .map((/** @type {number} */ one, /** @type {number} */ i) => ({ i, by: one - after[i] }))
      .filter((/** @type {{by: number}} */ { by }) => by > 0.1)
      .sort((/** @type {{by: number}} */ x, /** @type {{by: number}} */ y) => y.by - x.by)
      .slice(0, 3)
      .map(
        (/** @type {{i: number}} */ { i }) =>
          `“${own.steps[i].piece}” (${share(Math.exp(before[i]))} → ${share(Math.exp(after[i]))})`,
      );
    return [
      element(
        "p",
        { class: truth === bet ? "good" : "bad", "data-role": "verdict", role: "status" },
        truth === bet ? `Right: ${BETS[truth]}.` : `It is ${BETS[truth]}.`,
      ),
      element("p", { lang: "fr", class: "soft" }, own.sentence),
      element(
        "p",
        { lang: "fr", "data-role": "switched" },
        ...marked(other.sentence || "(nothing)", changed(a, b).fresh),
      ),
      element(
        "p",
        { "data-role": "log-p" },
        `The untouched translation has log-probability ${digits(sum(before))}; with these parts off, ${digits(sum(after))}.${lost.length ? ` Most is lost at ${lost.join(", ")}.` : ""}`,
      ),
    ];
  }

  /** What a switch, or a story, costs on many captions. @param {State} state */
  function cost({ off, presets, costs, captions }) {
    const story = presets.find(([, names]) => same(names, off))?.[0];
    const known = costs[story ?? (off.length === 1 ? off[0] : "")];
    if (!known) return [];
    const { change: by, low, high, same: kept } = known;
    return [
      element(
        "p",
        { class: "cost" },
        `On ${captions} validation captions: ${digits(by, 1)} BLEU (${digits(low, 1)} to ${digits(high, 1)}); ${kept} translations stay the same.`,
      ),
    ];
  }

  /** The bet, and after it the answer. @param {State} state */
  function result(state) {
    const { off, text } = state;
    if (off.length === 0) return [];
    const key = keyOf({ text, off });
    const bet = bets.get(key);
    const choices = BETS.map((title, i) => {
      const one = button("bet", title, () => {
        bets.set(key, i);
        redraw();
      });
      press(one, bet === i);
      return one;
    });
    /** @type {Node[]} */
    let told = [];
    if (bet !== undefined && compared.key === key) told = [...verdict(bet), ...cost(state)];
    else if (bet !== undefined) {
      told = [element("p", {}, "Translating …")];
      want("switched", { text, off }, (answer) => {
        compared = { key, answer };
        redraw();
      });
    }
    return [
      element(
        "p",
        { class: "head" },
        `${off.length} ${off.length === 1 ? "part is" : "parts are"} off. What will the translation be?`,
      ),
      bar(...choices),
      ...told,
      button("all-on", "Switch everything on again", () => set({ off: [] })),
    ];
  }

  /** @param {State} state */
  function draw(state) {
    node.replaceChildren(
      element(
        "p",
        { class: "head" },
        `Six stories, and what each changes in BLEU, a score of translations from 0 to 100; untouched ${digits(state.bleu, 1)}:`,
      ),
      element("div", { class: "bar presets" }, ...stories(state)),
      element("div", { class: "result" }, ...result(state)),
      board(state),
      element(
        "div",
        { class: "bar presets" },
        ...GLOBAL.map(([name, title]) => toggle(state, title, name)),
      ),
    );
  }
  return { node, draw };
}

/** The logit lens. @param {Desk} desk
 * @returns {Pane & {known: () => Likely[][] | null}} */
export function lensPane({ read, set, draw: redraw, want, offNow, nowKey, answered }) {
  const node = panel("lens");
  /** @type {{key: string, table: Likely[][], run: Omit<Run, "trace"> | null}} */
  let came = { key: "", table: [], run: null };
  /** The lens of what the picture shows, if it is known. */
  function known() {
    if (came.key === nowKey()) return came;
    const one = offNow().length ? undefined : answered(read().text);
    return one ? { table: one.lens, run: one } : null;
  }
  /** @param {State} state */
  function draw(state) {
    const lens = known();
    if (!lens?.run) {
      const [key, asked] = [nowKey(), { text: state.text, off: offNow() }];
      node.replaceChildren(element("p", {}, "Translating …"));
      return void want("lens", asked, (answer) => {
        came = { key, table: answer.table, run: answer };
        redraw();
      });
    }
    const { table, run } = lens;
    const { steps, target } = run;
    node.replaceChildren(
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
              ...table.map((_, level) => element("th", { scope: "col" }, String(level))),
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
  return { node, draw, known: () => known()?.table ?? null };
}

/** A vector of another sentence, carried over. @param {Desk} desk @returns {Pane} */
export function patchPane({ set, draw: redraw, want }) {
  const node = panel("patch");
  /** @type {{key: string, answer: any}} any: tracer.patch's */
  let carried = { key: "", answer: null };
  const other = field("other", { lang: "en", spellcheck: "false" }, (text) => set({ other: text }));
  /** @param {State} state @param {Station} station @param {Run} run */
  function draw(state, station, run) {
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
    node.replaceChildren(
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
                redraw();
              }),
            ),
          ]
        : []),
      result,
    );
  }
  return { node, draw };
}
