// @ts-check
// A story that the reader tells, sentence by sentence, and a trained memory
// network that says where a thing is: its weights at every hop. Python: story.py.
import { axis, columns } from "./lib/chart.js";
import { unpack } from "./lib/half.js";
import { integer, series } from "./lib/link.js";
import { dot, mix, softmax, within } from "./lib/maths.js";
import { digits, share } from "./lib/text.js";
import {
  bar,
  button,
  element,
  frame,
  grey,
  scroller,
  select,
  show,
  tableButton,
  tableOf,
  transport,
  voice,
  widget,
} from "./lib/view.js";
import limits from "./story.json" with { type: "json" };

/** @typedef {import("./lib/half.js").Packed} Packed */
/** @typedef {Record<string, import("./lib/half.js").Tensor>} Weights */
/** Names of one kind, who can hold them, how that is said, and how one asks.
 * @typedef {{names: string[], holders: string[], form: string, asked: string}} Kind */
/** @typedef {[name: string, holder: string]} Told */
/** @typedef {{vocabulary: string[], kinds: Kind[], weights: Record<string, Packed>, story: Told[],
 *   asked: string, draft: Told, step: number}} State */

const { sentences: MOST } = limits;
const FIRST = 4; // lookback.vocabulary: the words after the special ones

/** The names that one can ask for. @param {Kind[]} kinds */
const namesOf = (kinds) => kinds.flatMap(({ names }) => names);

/** The kind of a name. @param {Kind[]} kinds @param {string} name */
const kindOf = (kinds, name) =>
  /** @type {Kind} */ (kinds.find(({ names }) => names.includes(name)));

/** Whether this world has the sentence. @param {Kind[]} kinds @param {any} told */
const fitting = (kinds, told) =>
  series(() => true, told, 2) && !!kindOf(kinds, told[0])?.holders.includes(told[1]);

/** A sentence in words. @param {Kind[]} kinds @param {Told} told */
export const say = (kinds, [name, holder]) =>
  kindOf(kinds, name).form.replace("{0}", name).replace("{1}", holder);

/** The question in words. @param {Kind[]} kinds @param {string} name */
export const question = (kinds, name) => kindOf(kinds, name).asked.replace("{0}", name);

/** Where a name is by what was told last, and the sentences that tell, in the
 * order of need; the place is null if the story does not say.
 * @param {Kind[]} kinds @param {Told[]} story @param {string} asked */
export function follow(kinds, story, asked) {
  /** @type {number[]} */
  const support = [];
  let name = asked;
  while (kindOf(kinds, name)) {
    const told = story.findLastIndex(([one]) => one === name);
    if (told < 0) return { place: null, missing: name, support };
    support.push(told);
    name = story[told][1];
  }
  return { place: name, missing: null, support };
}

/** The number of hops that the weights hold. @param {object} p */
const hopsOf = (p) => Object.keys(p).filter((name) => name.startsWith("words.")).length - 1;

/** Rows of a table, added up. @param {import("./lib/half.js").Tensor} table @param {number[]} ids */
function added({ shape: [, d], numbers }, ids) {
  const sum = new Array(d).fill(0);
  for (const id of ids) for (let k = 0; k < d; k += 1) sum[k] += numbers[id * d + k];
  return sum;
}

/** p = softmax_i(u · m_i), u ← u + Σ p_i c_i at every hop; then softmax(W u).
 * @param {Weights} p @param {number[][]} story the sentences' word numbers, the oldest first
 * @param {number[]} asked the question's */
export function answer(p, story, asked) {
  const hops = hopsOf(p);
  const memories = Array.from({ length: hops + 1 }, (_, k) =>
    story.map((ids, i) => {
      const old = added(p[`ages.${k}`], [story.length - 1 - i]);
      return added(p[`words.${k}`], ids).map((x, j) => x + old[j]);
    }),
  );
  let u = added(p["words.0"], asked);
  /** @type {number[][]} */
  const looks = [];
  for (let k = 0; k < hops; k += 1) {
    const weights = softmax(memories[k].map((key) => dot(u, key)));
    const found = mix(weights, memories[k + 1]);
    u = u.map((x, j) => x + (found[j] ?? 0));
    looks.push(weights);
  }
  const last = p[`words.${hops}`];
  const words = softmax(Array.from({ length: last.shape[0] }, (_, w) => dot(u, added(last, [w]))));
  return { looks, words };
}

/** The numbers of a text's words. @param {string[]} vocabulary @param {string} text */
export const idsOf = (vocabulary, text) =>
  text.split(" ").map((word) => FIRST + vocabulary.indexOf(word));

/** What the network makes of a state: its looks, and a number for each place.
 * @param {Weights} p @param {State} state */
export function run(p, { vocabulary, kinds, story, asked }) {
  const told = story.map((one) => idsOf(vocabulary, say(kinds, one)));
  const found = answer(p, told, idsOf(vocabulary, question(kinds, asked)));
  const places = kinds[0].holders;
  return {
    looks: found.looks,
    places: places.map((place) => found.words[FIRST + vocabulary.indexOf(place)]),
  };
}

/** The largest number's place. @param {number[]} numbers */
const largest = (numbers) => numbers.indexOf(Math.max(...numbers));

/** The step in words. @param {State} state @param {ReturnType<typeof run>} now @param {number} last */
export function sentence(state, now, last) {
  const { kinds, story, asked, step } = state;
  const what = `“${question(kinds, asked)}?”`;
  if (step === 0) return `${what} No hop has been made yet.`;
  const best = now.looks.map(largest);
  if (step < last) {
    const i = best[step - 1];
    return `Hop ${step}: the largest attention weight, ${share(now.looks[step - 1][i])}, is on “${say(kinds, story[i])}”.`;
  }
  const place = largest(now.places);
  const said = `${what} The network answers “${kinds[0].holders[place]}” (p = ${share(now.places[place])})`;
  const { place: truth, missing } = follow(kinds, story, asked);
  if (truth === null)
    return `${said}. It is a guess: the story does not answer “${question(kinds, missing ?? "")}?”`;
  return truth === kinds[0].holders[place]
    ? `${said}, which is correct.`
    : `${said}. The story says “${truth}”.`;
}

/** One sentence of the story: its text, its weight at every hop, its buttons.
 * @param {number} hops @param {() => void} up @param {() => void} drop */
function line(hops, up, drop) {
  const text = element("span", { class: "text" });
  const rise = button("up", "↑", up);
  const out = button("remove", "×", drop);
  const tracks = Array.from({ length: hops }, (_, k) => {
    const fill = element("span", { class: "fill" });
    const number = element("span", { class: "number", "data-role": `hop-${k + 1}` });
    const node = element(
      "span",
      { class: "hop" },
      element("small", {}, `hop ${k + 1}`),
      element("span", { class: "track", "aria-hidden": "true" }, fill),
      number,
    );
    return { node, fill, number };
  });
  return {
    node: element(
      "li",
      {},
      text,
      element("span", { class: "moves" }, rise, out),
      element("span", { class: "hops" }, ...tracks.map(({ node }) => node)),
    ),
    rise,
    out,
    /** @param {string} told @param {boolean} first @param {boolean} only
     * @param {(number | null)[]} weights @param {string[]} marks */
    draw(told, first, only, weights, marks) {
      text.textContent = told;
      rise.setAttribute("aria-label", `Move up: ${told}`);
      out.setAttribute("aria-label", `Take out: ${told}`);
      grey(rise, first);
      grey(out, only);
      tracks.forEach(({ node, fill, number }, k) => {
        const weight = weights[k];
        node.classList.toggle("waits", weight === null);
        fill.style.width = `${100 * (weight ?? 0)}%`;
        if (weight === null) {
          number.textContent = "";
          delete number.dataset.value;
        } else show(number, weight, `${share(weight)}${marks[k]}`);
      });
    },
  };
}

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const { kinds, weights } = read();
  const p = /** @type {Weights} */ (unpack(weights));
  const hops = hopsOf(p);
  const { say: live, problem, complain, set } = voice(model);
  const at = () => ({ step: within(0, model.get("step"), hops + 1), last: hops + 1 });
  const walk = transport(at, (step) => set({ step }));
  const names = namesOf(kinds);
  /** @param {Told[]} story */
  const tell = (story) => set({ story });

  const who = select(
    "name",
    names.map((name) => [name, name]),
    (name) => set({ draft: [name, kindOf(kinds, name).holders[0]] }),
  );
  const where = select("holder", [], (holder) => set({ draft: [who.value, holder] }));
  who.setAttribute("aria-label", "of whom or what to tell");
  where.setAttribute("aria-label", "and where");
  const [lead, between] = [element("span"), element("span")];
  const sentenceBar = element("span", { class: "sentence" });
  let offered = "";
  /** What can be told next. @param {Told} draft */
  const offer = ([name, holder]) => {
    const { form, holders } = kindOf(kinds, name);
    if (form !== offered) {
      offered = form;
      const turned = form.indexOf("{1}") < form.indexOf("{0}");
      const [before, middle] = form.split(/\{[01]\}/);
      lead.textContent = before.trim();
      between.textContent = middle.trim();
      where.replaceChildren(...holders.map((one) => element("option", { value: one }, one)));
      const held = document.activeElement === who;
      sentenceBar.replaceChildren(
        ...(turned ? [lead, where, between, who] : [lead, who, between, where]),
      );
      if (held) who.focus();
    }
    who.value = name;
    where.value = holder;
  };
  const add = button("add", "Tell it", () => {
    const story = model.get("story");
    if (story.length >= MOST) {
      return complain(`The network reads up to ${MOST} sentences here: take one out first.`);
    }
    tell([...story, model.get("draft")]);
  });
  const ask = select(
    "asked",
    names.map((name) => [name, `${question(kinds, name)}?`]),
    (asked) => set({ asked }),
  );
  ask.setAttribute("aria-label", "the question");

  /** @param {number} i */
  const raise = (i) => {
    const story = [...model.get("story")];
    if (i === 0) return;
    [story[i - 1], story[i]] = [story[i], story[i - 1]];
    tell(story);
    lines[i - 1].rise.focus(); // where the sentence went
  };
  /** @param {number} i */
  const drop = (i) => {
    const story = model.get("story");
    if (story.length === 1) return complain("One sentence has to stay.");
    tell(story.filter((_, j) => j !== i));
    if (i === story.length - 1) lines[i - 1].out.focus();
  };
  const lines = Array.from({ length: MOST }, (_, i) =>
    line(
      hops,
      () => raise(i),
      () => drop(i),
    ),
  );
  const list = element("ol");
  const places = columns("place", kinds[0].holders.length);
  const figure = element(
    "div",
    { class: "scene" },
    list,
    element("p", { class: "head" }, "the answer"),
    places.node,
    axis(kinds[0].holders.map((place) => element("span", {}, place))),
  );
  const table = scroller("attention weights of every hop", { hidden: true });
  const node = frame(
    "story",
    "A story, a question, and the attention weights of each hop",
    at,
    walk.to,
    bar(sentenceBar, add),
    bar(ask),
    bar(...walk.nodes, tableButton(figure, table)),
    live,
    problem,
    figure,
    table,
  );
  return {
    node,
    stop: walk.stop,
    draw() {
      const state = { ...read(), step: at().step };
      const { story, asked, draft, step } = state;
      const now = run(p, state);
      const { support } = follow(kinds, step ? story : [], asked);
      ask.value = asked;
      offer(draft);
      const best = now.looks.map(largest);
      while (list.children.length > story.length) list.lastChild?.remove();
      lines.slice(0, story.length).forEach((one, i) => {
        if (one.node.parentNode !== list) list.append(one.node);
        one.node.classList.toggle("fact", support.includes(i));
        one.draw(
          say(kinds, story[i]),
          i === 0,
          story.length === 1,
          now.looks.map((look, k) => (k < step ? look[i] : null)),
          best.map((most) => (most === i ? " ●" : "")),
        );
      });
      now.places.forEach((x, i) => places.set(i, step > hops ? x : 0, step > hops ? x : 0));
      table.replaceChildren(
        tableOf(
          ["sentence", ...now.looks.map((_, k) => `hop ${k + 1}`), "needed"],
          story.map((one, i) => [
            say(kinds, one),
            ...now.looks.map((look, k) => (k < step ? digits(look[i], 3) : "–")),
            support.includes(i) ? `fact ${support.indexOf(i) + 1}` : "",
          ]),
        ),
      );
      walk.draw();
      live.textContent = sentence(state, now, hops + 1);
    },
  };
}

export default widget(
  ["vocabulary", "kinds", "weights"],
  ["story", "asked", "draft", "step"],
  build,
  {
    story: (x, { kinds }) => series((one) => fitting(kinds, one), x, within(1, x?.length, MOST)),
    asked: (x, { kinds }) => namesOf(kinds).includes(x),
    draft: (x, { kinds }) => fitting(kinds, x),
    step: integer(0, ({ weights }) => hopsOf(weights) + 1),
  },
);
