// Answers the Python tests: what do a widget's modules, as they are shipped,
// compute? One question a line of standard input, one answer a line of output,
// so that one process serves a whole run of tests.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

/** What the browser is given, by its text: each is loaded once.
 * @type {Map<string, Promise<any>>} any: a module is what its text makes it */
const loaded = new Map();

/** @param {string} source */
function load(source) {
  const known = loaded.get(source);
  if (known) return known;
  const bytes = Buffer.from(source).toString("base64");
  const widget = import(`data:text/javascript;base64,${bytes}`);
  loaded.set(source, widget);
  return widget;
}

/** A machine from its file. @param {any} widget @param {string} path */
const opened = async (widget, path) => widget.readMachine(await widget.inflate(readFileSync(path)));

/** What can be asked of a widget.
 * @type {Record<string, (widget: any, input: any) => unknown>} any: as above, and JSON */
const jobs = {
  exports: (widget) => [Object.keys(widget), Object.keys(widget.default)],
  refused: ({ default: { keeps } }, state) =>
    Object.keys(keeps).filter((name) => !keeps[name](state[name], state)),
  verdict: (widget, { exercise, typed }) => widget.verdict(exercise, typed),
  stages: (widget, input) => widget.stages(input),
  stations: (widget, input) => ({
    all: widget.stations(input),
    totals: widget.totals(widget.stations(input)),
    wrong: widget.refuse(input),
  }),
  budget: (widget, input) => ({
    parts: widget.count(input),
    touched: widget.touched(input),
    wrong: widget.wrong(input),
  }),
  allWeights: (widget, { example, scaled }) => widget.allWeights(example, scaled),
  mapOf: (widget, { example, place, layer }) =>
    widget.mapOf(widget.allWeights(example), place, layer),
  similarity: (widget, input) => ({
    scores: widget.scoresOf(input.query, input.keys),
    weights: widget.weightsOf(input),
  }),
  saturation: ({ SIZES, draw, measure }, { seed, scaled }) =>
    SIZES.map((/** @type {number} */ size) => measure(draw(seed).get(size), size, scaled)),
  shuffled: (widget, input) => ({
    ...widget.compare(input),
    embedded: input.tiles.map((/** @type {string} */ word) =>
      widget.embed(word, input.weights[0][0].length),
    ),
  }),
  relay: ({ relay, back }, { w, pulse, step }) => {
    const states = relay(w, pulse);
    return { states, back: back(w, states, step) };
  },
  tapeHead: ({ replay, addressingOf, address }, { done, now }) => {
    const { memory, weights, found } = replay(done);
    return { memory, weights, found, next: address(memory, weights, addressingOf(now)) };
  },
  oneMatrix: ({ find, matrix, symbols, right }, { rule, pairs, d, asked }) => {
    const { keys, values } = symbols(d);
    /** @type {number[][]} */
    const all = pairs;
    const stored = all.map(([k]) => keys[k]);
    const held = all.map(([, v]) => values[v]);
    const W = matrix(rule, stored, held, d);
    return {
      ...find(rule, asked, pairs, d),
      ...{ keys, values, W },
      right: right({ rule, pairs, d, asked }),
    };
  },
  /** Each letter's probability by either eye, and a round as it came out. */
  peephole: ({ guesses, outcome, unpackRows, windowOf }, state) => {
    const [eye, fixed] = [unpackRows(state.eye), unpackRows(state.fixed)];
    /** @param {number[]} places */
    const seen = (places) =>
      places.map((place) => ({ place, pixels: windowOf(state.pictures, state.which, place) }));
    const { which, looks } = state;
    return {
      mine: guesses(eye, seen(looks)),
      other: guesses(fixed, seen(state.order)),
      round: outcome(eye, fixed, state, { which, looks, guess: "a" }),
    };
  },
  flashTiles: ({ replay, result, whole }, state) => {
    const { kept, moved, order } = replay(state);
    return { kept, results: kept.map(result), whole: whole(state), moved, tiles: order.length };
  },
  cacheSize: ({ bytesOf }, state) => bytesOf(state),
  parameters: ({ parametersOf }, state) => parametersOf(state),
  copier: ({ run, unpack }, { machine, text, slots }) => {
    const { steps, written, wrong } = run(unpack(machine), text, slots);
    return { steps, written: written.join(""), wrong };
  },
  /** A line that is written, and what a mixture becomes. */
  handwriting: ({ lineOf, unpackRows }, { machine, text, seed, bias }) => {
    const line = lineOf(unpackRows(machine), text, seed, bias);
    line.to(3); // it can be asked for in parts
    line.to(9999);
    return { made: line.made, done: line.done() };
  },
  /** A new machine's tensors, its loss on each batch and the gradients, and the
   * tensors after a step of Adam on each. */
  learned(widget, { kind, width, seed, task, rate, batches }) {
    const machine = widget.draw(kind, width, seed);
    /** @param {Float64Array} numbers */
    const tensors = (numbers) =>
      Object.entries(widget.named({ ...machine, weights: numbers }, machine.mean)).map(
        ([name, { x, rows, columns }]) => [name, Array.from(x), [rows, columns]],
      );
    const drawn = tensors(machine.weights);
    const steps = batches.map((/** @type {unknown} */ batch, /** @type {number} */ step) => {
      const { loss, gradient } = widget.lossOf(machine, batch, task);
      widget.adam(machine, gradient, rate, step);
      return { loss, gradient: tensors(gradient), weights: tensors(machine.weights) };
    });
    return { drawn, steps };
  },
  /** A machine after some steps: its tensors, what it writes, where it looks. */
  written(widget, { kind, width, seed, task, rate, steps, texts }) {
    const machines = [widget.draw(kind, width, seed)];
    const given = { task, rate, seed, step: 0, most: steps, ms: Infinity };
    const { losses } = steps ? widget.train({ ...given, machines }) : { losses: [] };
    const [machine] = machines;
    return {
      losses,
      tensors: Object.entries(widget.named(machine, machine.mean)).map(([name, { x }]) => [
        name,
        Array.from(x),
      ]),
      texts: texts.map((/** @type {number[]} */ ids) => ({
        written: widget.spell(machine, [ids])[0],
        gaze: widget.gaze(machine, ids, task),
      })),
      right: widget.examine({ machines, task })[0],
    };
  },
  story: ({ answer }, { weights, story, asked }) => answer(weights, story, asked),
  told: (widget, { state, weights }) => widget.run(weights, state),
  lookup: (widget, input) => widget.lookup(input),
  masked: (widget, input) =>
    input.tokens.map((/** @type {string} */ _, /** @type {number} */ i) => widget.row(input, i)),
  squares: (widget, { n, padding }) =>
    Object.keys(widget.PRESETS).map((name) => widget.square(name, n, padding)),
  clocks: (widget, input) => ({ vectors: widget.vectors(input), curve: widget.curve(input) }),
  race: (widget, input) =>
    ["recurrent", "attention"].map((kind) => {
      const stages = widget.schedule(kind, input);
      return {
        stages,
        now: widget.after(stages, input.workers, input.step),
        words: widget.words(kind, input, input.step),
      };
    }),
  swaps: (widget, { counts, size, trials, seed }) => {
    const [one, two] = counts.map(widget.parse);
    const now = widget.measure(widget.prepare(one, two, size), trials, seed);
    const reach = widget.reachOf(now.gaps, now.gap);
    return { ...now, reach, bins: widget.histogram(now.gaps, now.gap, reach) };
  },
  rungs: (widget, { rungs, measures, against }) =>
    Object.keys(measures).map((name) =>
      rungs.map((/** @type {unknown} */ one, /** @type {number} */ i) =>
        widget.gain(one, rungs[widget.partner(rungs, i, against)], name),
      ),
    ),
  look: (widget, { example }) =>
    example.target.map((/** @type {string} */ _, /** @type {number} */ i) =>
      widget.look(example, i),
    ),
  stack: (widget, { states, seed }) => {
    const next = widget.random(seed);
    return {
      drawn: Array.from({ length: 50 }, () => next()),
      runs: states.map(widget.run),
      norm: widget.layerNorm([
        [1, 2, 4, 5],
        [0, 0, 0, 0],
      ])[0],
    };
  },
  words: (widget, { texts }) => texts.map(widget.words),
  /** Pieces of words, and the words again. */
  pieces: async (widget, { file, texts }) => {
    const { encode, decode } = widget.subwords(await opened(widget, file));
    const ids = texts.map((/** @type {string} */ text) => encode(text.split(" ")));
    return { ids, again: ids.map(decode) };
  },
  /** Translations by the machine in a file, the look changed or not. */
  translated: async (widget, { file, sources, ...how }) => {
    const { model, config, weights } = await opened(widget, file);
    return sources.map((/** @type {number[]} */ source) => {
      const instead = widget.otherLook(how.look ?? "own", how.gone ?? "", source.length);
      const machine =
        model === "Transformer"
          ? widget.transformer(weights, config, instead, { off: how.off })
          : widget.rnnsearch(weights, instead);
      const [best] = widget.beam(machine, source, how).found;
      const steps = best.steps.map((/** @type {any} any: as above */ step) =>
        how.looks ? step : { id: step.id },
      );
      return { steps, score: best.score };
    });
  },
  /** A Transformer's tensors in base64, given the translation; what it writes
   * with parts off; and what a patched vector makes it write. */
  traced: async (widget, { file, each, off = [] }) => {
    const one = widget.opened(await opened(widget, file));
    return each.map((/** @type {{source: number[], ids: number[]}} */ { source, ids }) =>
      Object.fromEntries(
        Object.entries(one.traced(source, ids, off)).map(([name, { shape, data }]) => [
          name,
          [shape, Buffer.from(data.buffer).toString("base64")],
        ]),
      ),
    );
  },
  opened: async (widget, { file, what, each }) => {
    const one = widget.opened(await opened(widget, file));
    return each.map((/** @type {any} any: JSON */ asked) => one[what](asked));
  },
  /** Scores by the body in a file, at some places; nothing else to say. */
  bodied: async (widget, { file, family, rows }) => {
    const { config, weights } = await opened(widget, file);
    const body = widget.body(weights, config);
    return rows.map((/** @type {{tokens: number[], places: number[]}} */ { tokens, places }) =>
      body.logits(tokens, family, places).map((/** @type {Float64Array} */ one) => Array.from(one)),
    );
  },
  /** A function of one thing, of each. */
  call: (widget, { name, each }) =>
    each.map((/** @type {any} any: JSON */ one) => widget[name](one)),
  /** What the two machines are asked of a caption with blanks. */
  questions: (widget, { state, index }) => widget.questions(state, new Map(Object.entries(index))),
  /** Leans of every level, as it is and with each word covered as well. */
  leaning: async (widget, { file, probes, typed, covered, index }) => {
    const { config, weights } = await opened(widget, file);
    const body = widget.body(weights, config);
    const { at, word } = widget.target(typed, probes);
    const all = widget.questions(typed, covered, at, new Map(Object.entries(index)));
    const [leans, ...without] = all.map((/** @type {number[]} */ tokens) =>
      widget.leans(body.levels(tokens, "BERT", at + 1), probes[word].levels),
    );
    const best = leans.map((/** @type {number} */ _, /** @type {number} */ level) =>
      widget.decisive({ leans, without }, level, covered, at),
    );
    return { at, leans, without, best };
  },
  /** A translation; and every word with other weights, drawn and sought. */
  otherWeights: (widget, { machine, source, seed }) => {
    const told = widget.examine(widget.unpackRows(machine), source);
    return {
      target: told.target,
      moments: told.moments.map(
        (/** @type {any} any: as above */ { own, p }, /** @type {number} */ step) => {
          const drawn = widget.shuffled(own, seed + step);
          const q = told.says(step, drawn);
          const sought = widget.seek(told, step, seed);
          return {
            own,
            p,
            drawn,
            q,
            moved: widget.variation(p, q),
            apart: widget.divergence(own, drawn),
            sought,
            "sought moves": widget.variation(p, told.says(step, sought)),
            "sought apart": widget.divergence(own, sought),
          };
        },
      ),
    };
  },
  /** What is left to draw from, and what each number of chance falls on. */
  kept: (widget, { scores, temperature, k, p, chances }) => {
    const left = widget.cut(widget.chances(scores, temperature), k, p);
    return {
      p: Array.from(left.p),
      count: left.count,
      drawn: chances.map((/** @type {number} */ one) => widget.drawn(left, one)),
    };
  },
  /** A pair as a lattice, its text given or written by the model itself. */
  lattice: (widget, { models, source, given, most }) => {
    const [p, other] = models.map(widget.unpackRows);
    const lattice = widget.lay(p, source, { given, most });
    const found = {
      ...lattice,
      alpha: widget.forwardSums(lattice),
      beta: widget.backwardSums(lattice),
      posterior: widget.posteriorOf(lattice),
      best: widget.placesOf(widget.bestPath(lattice)),
      search: widget.search(other, source, { given: lattice.target }).weights,
      other: widget.search(other, source, { given, most }).target,
    };
    return JSON.parse(JSON.stringify(found, (_, x) => (x === -Infinity ? -1e30 : x)));
  },
  /** The vector after each letter, and the logits when `tokens` are fed. */
  run: (widget, { models, width, source, tokens }) => {
    const weights = widget.unpack(models[width]);
    /** @type {Float64Array[]} */
    const vectors = widget.encode(weights, source);
    const c = vectors[vectors.length - 1];
    let state = widget.linear(weights, "bridge.weight", "bridge.bias", c).map(Math.tanh);
    const logits = tokens.map((/** @type {number} */ token) => {
      const now = widget.step(weights, token, state, c);
      state = now.state;
      return Array.from(now.logits);
    });
    const { written } = widget.copy(weights, source);
    return { vectors: vectors.map((v) => Array.from(v)), logits, written };
  },
};

/** Bytes reach a widget as a DataView. @param {string} _ @param {any} value any: JSON */
const received = (_, value) =>
  typeof value?.bytes === "string"
    ? new DataView(Uint8Array.from(Buffer.from(value.bytes, "base64")).buffer)
    : value;

for await (const line of createInterface({ input: process.stdin })) {
  const { source, job, input } = JSON.parse(line, received);
  /** @type {{answer: unknown} | {error: string}} */
  let reply;
  try {
    reply = { answer: await jobs[job](await load(source), input) };
  } catch (error) {
    reply = { error: error instanceof Error ? String(error.stack) : String(error) };
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
