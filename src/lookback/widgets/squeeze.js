// @ts-check
// Letters read into one fixed vector and written out again, by the trained
// RNN Encoder–Decoder. Python: squeeze.py; the model: bottleneck.js.

import { copy, FIRST, idsOf, MOST } from "./bottleneck.js";
import { unpack } from "./lib/half.js";
import { integer } from "./lib/link.js";
import { within } from "./lib/maths.js";
import {
  bar,
  button,
  change,
  element,
  frame,
  press,
  scroller,
  tableButton,
  tableOf,
  transport,
  vector,
  voice,
  widget,
} from "./lib/view.js";

const EDIT = 1000; // a letter changed, left out or added

/** @typedef {import("./lib/half.js").Packed} Packed */
/** @typedef {{alphabet: string, models: Record<string, Record<string, Packed>>, text: string,
 *   width: string, step: number}} State */
/** @typedef {import("./lib/view.js").Model<State>} Model */
/** @typedef {{want: string, got: string, right: boolean}} Pair */
/** @typedef {{vectors: Float64Array[], pairs: Pair[]}} Result */

/** What was wanted beside what came back, laid so that as few as possible differ, and
 * of these ways one with the most letters right; "" for nothing. A letter left out
 * counts once, and not again at every place behind it.
 * @param {string[]} want @param {string[]} got @returns {Pair[]} */
export function compare(want, got) {
  const [n, m] = [want.length, got.length];
  // cost[i][j] of the letters from i and j on: an edit weighs more than all letters right
  const cost = Array.from({ length: n + 1 }, () => new Float64Array(m + 1));
  /** @param {number} i @param {number} j */
  const both = (i, j) => (want[i] === got[j] ? -1 : EDIT) + cost[i + 1][j + 1];
  for (let i = n; i >= 0; i--) {
    for (let j = m; j >= 0; j--) {
      const ways = [
        ...(i < n && j < m ? [both(i, j)] : []),
        ...(i < n ? [EDIT + cost[i + 1][j]] : []),
        ...(j < m ? [EDIT + cost[i][j + 1]] : []),
      ];
      cost[i][j] = ways.length ? Math.min(...ways) : 0;
    }
  }
  const pairs = [];
  for (let [i, j] = [0, 0]; i < n || j < m; ) {
    const side = i < n && j < m && cost[i][j] === both(i, j);
    const out = !side && i < n && cost[i][j] === EDIT + cost[i + 1][j];
    pairs.push({
      want: side || out ? want[i] : "",
      got: out ? "" : got[j],
      right: side && want[i] === got[j],
    });
    if (side || out) i++;
    if (!out) j++;
  }
  return pairs;
}

/** @param {Pair[]} pairs */
const mistakes = (pairs) => {
  const wrong = pairs.filter((pair) => !pair.right).length;
  return wrong ? `${wrong} mistake${wrong === 1 ? "" : "s"}` : "no mistake";
};

/** The letters a reader typed, or what is wrong with them.
 * @param {string} typed @param {string} alphabet
 * @returns {{text?: string, problem?: string}} */
export function readText(typed, alphabet) {
  /** @param {string} letter */
  const known = (letter) => alphabet.includes(letter);
  const letters = [...typed].map((letter) =>
    known(letter) || !known(letter.toLowerCase()) ? letter : letter.toLowerCase(),
  );
  const strange = [...new Set(letters.filter((letter) => !known(letter)))];
  if (strange.length) {
    return {
      problem:
        `The model has never seen ${strange.map((s) => `“${s}”`).join(", ")}: ` +
        `it knows only ${alphabet}.`,
    };
  }
  if (letters.length === 0) return { problem: "Type at least one letter." };
  if (letters.length > MOST) return { problem: `At most ${MOST} letters, please.` };
  return { text: letters.join("") };
}

/** The step in words. `read` and `written` count what has been done by now.
 * @param {string} text @param {Pair[]} pairs @param {string} width
 * @param {number} read @param {number} written @param {boolean} done */
export function sentence(text, pairs, width, read, written, done) {
  const letters = [...text];
  const all = `${letters.length} letter${letters.length === 1 ? "" : "s"}`;
  if (done) {
    return (
      `Read “${text}”, ${all}, wrote “${pairs.map((pair) => pair.got).join("")}” from ` +
      `${width} numbers: ${mistakes(pairs)}. A letter changed, left out or added is one mistake.`
    );
  }
  if (read === 0) return `Nothing is read yet. ${all} wait, and ${width} numbers.`;
  if (read <= letters.length) {
    return (
      `Read “${letters[read - 1]}”, letter ${read} of ${letters.length}. ` +
      `The same ${width} numbers now stand for “${letters.slice(0, read).join("")}”.`
    );
  }
  if (written === 0) return `All is read. From here on, these ${width} numbers are all there is.`;
  const { got, want, right } = pairs[written - 1];
  if (right) return `Wrote “${got}”, as it was.`;
  if (!got) return `Left out “${want}”.`;
  return want ? `Wrote “${got}”, where “${want}” stood.` : `Added “${got}”.`;
}

/** Letters as tiles; `kind` of each says more than colour alone.
 * @param {string} role @param {{letter: string, kind: string, note: string}[]} letters */
function tiles(role, letters) {
  return letters.map(({ letter, kind, note }) =>
    element(
      "span",
      { class: `tile ${kind}`, "data-role": role, "data-value": letter, "data-kind": kind },
      letter === " " ? "␣" : letter || "·",
      element("small", {}, note),
    ),
  );
}

/** The trained model behind each width, run once for each text.
 * @param {Model} model @returns {(width: string, text: string) => Result} */
function runner(model) {
  const [alphabet, models] = [[...model.get("alphabet")], model.get("models")];
  /** @type {Map<string, ReturnType<typeof unpack>>} */
  const weights = new Map();
  /** @type {Map<string, Result>} */
  const results = new Map();
  return (width, text) => {
    const key = `${width} ${text}`;
    const known = results.get(key);
    if (known) return known;
    const tensors = weights.get(width) ?? unpack(models[width]);
    weights.set(width, tensors);
    const { vectors, written } = copy(tensors, idsOf(alphabet, text));
    const letters = written.map((id) => alphabet[id - FIRST] ?? "?");
    const result = { vectors, pairs: compare([...text], letters) };
    results.set(key, result);
    return result;
  };
}

/** The field for the text, two texts to try, and a button for each width.
 * @param {Model} model @param {ReturnType<typeof runner>} run */
function entry(model, run) {
  const alphabet = model.get("alphabet");
  const { problem, complain } = voice(model);
  /** @param {string} typed */
  const take = (typed) => {
    const { text, problem: what } = readText(typed, alphabet);
    complain(what ? `${what} “${model.get("text")}” stays.` : "");
    if (text) change(model, { text, step: -1 });
    else if (typed) box.value = model.get("text");
  };
  const box = element("input", {
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    "data-action": "text",
    size: 22,
    oninput(event) {
      if (!(/** @type {InputEvent} */ (event).isComposing)) take(box.value);
    },
    onchange() {
      box.value = model.get("text");
    },
  });
  const letters = [...alphabet].filter((letter) => letter.trim());
  const any = () => letters[Math.floor(Math.random() * letters.length)];
  /** @param {number} count */
  const some = (count) => Array.from({ length: count }, any).join("");
  const widths = Object.keys(model.get("models")).map((width) => {
    const score = element("small", {});
    const one = button("width", "", () => change(model, { width, step: -1 }));
    one.append(`${width} numbers`, score);
    return { one, width, score };
  });
  return {
    node: element(
      "div",
      {},
      bar(
        element("label", { class: "letters" }, "letters ", box),
        button("short", "5 at random", () => take(some(5))),
        button("long", "20 at random", () => take(some(20))),
        button("more", "one more", () => take(model.get("text") + some(1))),
      ),
      problem,
      element(
        "div",
        { class: "bar widths", role: "group", "aria-label": "size of the vector" },
        ...widths.map(({ one }) => one),
      ),
    ),
    /** @param {string} text */
    draw(text) {
      if (document.activeElement !== box || box.value) box.value = text;
      for (const { one, width, score } of widths) {
        press(one, width === model.get("width"));
        score.textContent = ` ${mistakes(run(width, text).pairs)}`;
      }
    },
  };
}

/** The three lanes: what is read, the one vector, what is written. */
function lanes() {
  const [read, wrote] = [element("div", { class: "lane" }), element("div", { class: "lane" })];
  const box = element("div", { class: "lane" });
  const name = element("p", { class: "head" });
  let cells = vector(0);
  /** @param {string} text */
  const head = (text) => element("p", { class: "head" }, text);
  const node = element("div", {}, head("read"), read, name, box, head("written"), wrote);
  return {
    node,
    /** @param {Result} result @param {string} text @param {number} step */
    draw({ vectors, pairs }, text, step) {
      const letters = [...text, ""];
      const at = Math.min(step, letters.length);
      read.replaceChildren(
        ...tiles(
          "read",
          letters.map((letter, i) => ({
            letter: letter || "⏎",
            kind: i < at ? "known" : "waiting",
            note: letter ? "" : "end",
          })),
        ),
      );
      const now = [...vectors[at]];
      if (cells.size !== now.length) cells = vector(now.length, "vector");
      cells.fill(now, 1);
      name.textContent =
        `the one vector, ${now.length} numbers from −1 to 1` +
        (at < letters.length ? ": c, if the text ended here" : ": c");
      node.classList.toggle("dense", now.length > 16);
      node.style.setProperty("--n", String(now.length));
      box.replaceChildren(cells.node);
      wrote.replaceChildren(
        ...tiles(
          "written",
          pairs.slice(0, Math.max(0, step - letters.length)).map(({ got, want, right }) => ({
            letter: got,
            kind: right ? "right" : "wrong",
            note: right ? "✓" : `✗ ${want || "—"}`,
          })),
        ),
      );
    },
  };
}

/** The whole widget. @param {Model} model */
function build(model) {
  const run = runner(model);
  const now = () => run(model.get("width"), model.get("text"));
  const at = () => {
    const last = [...model.get("text")].length + 1 + now().pairs.length;
    const asked = model.get("step");
    return { step: within(0, asked < 0 ? last + 1 + asked : asked, last), last };
  };
  const walk = transport(at, (step) => change(model, { step }), 500);
  const [form, figure] = [entry(model, run), lanes()];
  const { say } = voice(model);
  const table = scroller("letter by letter", { hidden: true });
  const node = frame(
    "squeeze",
    "Squeeze letters through one vector",
    at,
    walk.to,
    form.node,
    bar(...walk.nodes, tableButton(figure.node, table)),
    say,
    figure.node,
    table,
  );
  return {
    node,
    stop: walk.stop,
    draw() {
      const [text, width, { step, last }, result] = [
        model.get("text"),
        model.get("width"),
        at(),
        now(),
      ];
      const read = [...text].length + 1;
      form.draw(text);
      figure.draw(result, text, step);
      table.replaceChildren(
        tableOf(
          ["", "read", "written", "right?"],
          result.pairs.map(({ want, got, right }, i) => [
            String(i + 1),
            want || "nothing",
            got || "nothing",
            right ? "yes" : "no",
          ]),
        ),
      );
      say.textContent = sentence(
        text,
        result.pairs,
        width,
        Math.min(step, read),
        Math.max(0, step - read),
        step === last,
      );
      walk.draw();
    },
  };
}

export default widget(["alphabet", "models"], ["text", "width", "step"], build, {
  text: (x, s) => readText(String(x), s.alphabet).text === x,
  width: (x, s) => Object.keys(s.models).includes(x),
  step: integer(-1, 2 * MOST + 1),
});
