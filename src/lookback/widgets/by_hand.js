// @ts-check
// The fields of an exercise that is done by hand. What is right, and what is
// said of each mistake, are the data that its check in Python reads too.
// Progress stays in the reader's browser. Python: by_hand.py.
import { softmax } from "./lib/maths.js";
import { follow, recall, remember } from "./lib/progress.js";
import { hasComma, marksOf, pointed, readNumber } from "./lib/typed.js";
import { bar, button, element, voice, widget } from "./lib/view.js";

/** @typedef {[number, number]} Range the least number and the most */
/** @typedef {{at: number, right: Range[], mistakes: [string, Range[]][],
 *   nearly: [string, Range[][]][], otherwise: string | null}} Stage */
/** @typedef {{numbers: number[], words: Record<string, string>}} Measured */
/** @typedef {{name: string, fields: string[][], verified: string, stages: Stage[],
 *   says: {empty: string, open: string, strange: string},
 *   measure: keyof typeof MEASURES | null}} Exercise */
/** @typedef {{exercise: Exercise}} State */
/** What is said of an answer; `field` is the one that cannot be judged yet.
 * @typedef {{outcome: boolean | null, words: string, field?: number}} Verdict */
/** @typedef {{known: boolean, found: number}} Judged */

/** What stages are about where it is not the numbers themselves: each is the
 * twin of a function of its name in exercises/. */
const MEASURES = {
  /** @param {number[]} scores @returns {Measured} */
  mixture(scores) {
    const [one, two] = [scores.slice(0, 3), scores.slice(3)];
    const inside = softmax(one.map((x, k) => x / 2 + two[k] / 2));
    const [first, second] = [softmax(one), softmax(two)];
    const outside = first.map((p, k) => (p + second[k]) / 2);
    /** @param {number[]} p */
    const lead = (p) => p[2] - Math.max(p[0], p[1]);
    /** @param {number[]} p */
    const said = (p) => p.map((x) => x.toFixed(2)).join(", ");
    return {
      numbers: [lead(inside), -lead(first), -lead(second), -lead(outside)],
      words: { inside: said(inside), outside: said(outside) },
    };
  },
};

/** Where numbers lie. @param {number[]} numbers @param {number} at */
const inRange =
  (numbers, at) =>
  /** @param {Range} range @param {number} i */
  ([a, b], i) =>
    a <= numbers[at + i] && numbers[at + i] <= b;

/** The first mistake that the numbers show; or what is verified. `known` where
 * the mistake has a name; `found` counts the numbers that are right.
 * @param {Exercise} exercise @param {number[]} given @returns {Verdict & Judged} */
function judge(exercise, given) {
  const { fields, measure, stages, verified } = exercise;
  const { numbers, words } = measure ? MEASURES[measure](given) : { numbers: given, words: {} };
  /** @param {string} text */
  const filled = (text) =>
    Object.entries(words).reduce((all, [name, x]) => all.replaceAll(`{${name}}`, x), text);
  const found = fields
    .flat()
    .filter((_, i) =>
      stages.some(({ at, right }) => right[i - at] && inRange(given, at)(right[i - at], i - at)),
    ).length;
  for (const { at, right, mistakes, nearly, otherwise } of stages) {
    const fits = inRange(numbers, at);
    if (right.every(fits)) continue;
    /** @param {Range[]} others @param {number} i */
    const short = (others, i) => [right[i], ...others].some((range) => fits(range, i));
    const known = [
      ...mistakes.filter(([, box]) => box.every(fits)),
      ...nearly.filter(([, each]) => each.every(short)),
    ][0]?.[0];
    const hint = known ?? otherwise;
    if (hint === null) continue;
    const labels = fields
      .flat()
      .slice(at, at + right.length)
      .filter((_, i) => fits(right[i], i));
    const more = measure || known || !labels.length ? "" : ` Right already: ${labels.join("; ")}.`;
    return { outcome: false, words: filled(hint) + more, known: Boolean(known), found };
  }
  return { outcome: true, words: filled(verified), known: true, found: Infinity };
}

/** What is said of what is typed: true if right, false if not yet, null if
 * there is nothing to judge. Where a comma or a point can stand for two things,
 * 14,000, it is what makes more of the answer right, if the other fields do not
 * tell; if neither does, a comma is asked about.
 * @param {Exercise} exercise @param {string[]} typed @returns {Verdict} */
export function verdict(exercise, typed) {
  const marks = marksOf(typed);
  const read = marks.map((mark) => readAs(exercise, typed, mark));
  const most = Math.max(...read.map(({ found }) => found));
  const best = marks.filter((_, i) => read[i].found === most);
  const sure = !marks.includes(",") || marks.length === 1 || !hasComma(typed);
  const doubtful = best.includes(",") ? best.length > 1 : hasComma(typed, true);
  const comma = typed.some((text) => text.includes(","));
  const named = best[0] === "." && marks[0] === "" && read[0].known && !comma;
  const { known, found, ...said } =
    !sure && doubtful ? readAs(exercise, typed) : read[named ? 0 : marks.indexOf(best[0])];
  return (said.outcome === false && asDecimals(exercise, typed, found)) || said;
}

/** What is asked where 2·92 with a point would be right, and is not as it is.
 * @param {Exercise} exercise @param {string[]} typed @param {number} found */
function asDecimals(exercise, typed, found) {
  const others = typed.map((text) => pointed(text));
  const field = others.findIndex((other, at) => {
    const texts = typed.map((text, i) => (i === at && other ? other.text : text));
    return other && readAs(exercise, texts, "").found > found;
  });
  const words = `${exercise.fields.flat()[field]}: ${others[field]?.asked}`;
  return field < 0 ? null : { outcome: null, words, field };
}

/** The verdict with numbers read in one way.
 * @param {Exercise} exercise @param {string[]} typed
 * @param {import("./lib/typed.js").Thousands} [mark] @returns {Verdict & Judged} */
function readAs(exercise, typed, mark) {
  const { fields, says } = exercise;
  const read = typed.map((text) => readNumber(text, mark));
  const unread = read.findIndex((one) => typeof one === "string");
  /** @param {boolean | null} outcome @param {string} words @param {number} field */
  const stop = (outcome, words, field) => ({ outcome, words, field, known: false, found: 0 });
  if (unread >= 0) return stop(null, `${fields.flat()[unread]}: ${read[unread]}`, unread);
  const open = read.indexOf(null);
  if (read.every((one) => one === null)) return stop(null, says.empty, 0);
  if (open >= 0) return stop(false, says.open, open);
  const numbers = /** @type {number[]} */ (read);
  const strange = numbers.findIndex((x) => !Number.isFinite(x));
  if (strange >= 0) return stop(false, says.strange, strange);
  return judge(exercise, numbers);
}

/** Says by what a node is described, without an id.
 * @param {HTMLElement} node @param {HTMLElement[]} by */
const describe = (node, ...by) => Object.assign(node, { ariaDescribedByElements: by });

/** A field for each number, and what groups them.
 * @param {Exercise} exercise @param {() => void} changed */
function fieldsOf({ fields, stages }, changed) {
  const long = stages.some(({ right }) => right.some(([a]) => Math.abs(a) >= 1e5));
  const rows = fields.map((labels) =>
    labels.map((label) => {
      const input = element("input", {
        type: "text",
        size: 6,
        autocomplete: "off",
        autocapitalize: "off",
        spellcheck: "false",
        "data-action": "number",
        oninput: () => {
          input.removeAttribute("aria-invalid");
          changed();
        },
      });
      return { input, node: element("label", {}, element("span", {}, label), input) };
    }),
  );
  const example = element("p", { class: "example" }, "In numbers such as 0.25, −1/3, 10^4 or √2.");
  const node = element(
    "fieldset",
    {},
    element("legend", {}, "Your answer"),
    example,
    ...rows.map((row) =>
      element("div", { class: long ? "fields long" : "fields" }, ...row.map((one) => one.node)),
    ),
  );
  describe(node, example);
  return { inputs: rows.flat().map(({ input }) => input), node };
}

/** The fields, the verdict, and what this browser remembers.
 * @param {import("./lib/view.js").Model<State>} model */
function build(model) {
  const exercise = model.get("exercise");
  const key = `by-hand:${exercise.name}`;
  const { say, problem, complain } = voice(model);
  const { inputs, node: fields } = fieldsOf(exercise, () => {
    if (say.textContent || problem.textContent) node.dataset.state = "old";
  });
  const clear = () => {
    complain("");
    say.replaceChildren();
    node.dataset.state = "open";
    for (const input of inputs) {
      input.removeAttribute("aria-invalid");
      describe(input);
    }
  };
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    const typed = inputs.map(({ value }) => value);
    const { words, field } = verdict(exercise, typed);
    clear();
    if (field === undefined) return remember(key, { typed });
    complain(words);
    inputs[field].setAttribute("aria-invalid", "true");
    inputs[field].focus();
    describe(inputs[field], problem); // after focus, or it is read out twice
  };
  const check = button("check", "Check");
  check.type = "submit"; // so that Enter checks, too
  const retry = button("retry", "Start over", () => {
    remember(key, null);
    inputs[0].focus();
  });
  const node = element(
    "div",
    { class: "lookback-widget", "data-widget": "by-hand" },
    element("form", { onsubmit: submit }, fields, problem, bar(check, retry), say),
  );
  const draw = () => {
    const kept = recall(key)?.typed;
    const typed = Array.isArray(kept) && kept.length === inputs.length ? kept.map(String) : null;
    inputs.forEach((input, i) => {
      input.value = typed ? typed[i] : "";
    });
    clear();
    retry.hidden = typed === null;
    if (!typed) return;
    const { outcome, words, field } = verdict(exercise, typed);
    if (field !== undefined) return; // a page of another day has asked more, or less
    node.dataset.state = outcome ? "right" : "wrong";
    say.append(element("strong", {}, outcome ? "Right: " : "Not yet. "), words);
  };
  return { node, draw, stop: follow(key, draw) };
}

export default widget(["exercise"], [], build, {});
