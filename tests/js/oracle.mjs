// Runs a widget's shipped module on the JSON of standard input and prints
// what it computed, for the Python tests to compare with torch.
import { readFileSync } from "node:fs";

const { source, job, input } = JSON.parse(readFileSync(0, "utf8"));
const widget = await import(
  `data:text/javascript;base64,${Buffer.from(source).toString("base64")}`
);

const jobs = {
  exports: () => [Object.keys(widget), Object.keys(widget.default)],
  stages: () => widget.stages(input),
  stations: () => ({
    all: widget.stations(input),
    totals: widget.totals(widget.stations(input)),
    wrong: widget.refuse(input),
  }),
  budget: () => ({
    parts: widget.count(input),
    touched: widget.touched(input),
    wrong: widget.wrong(input),
  }),
  allWeights: () => widget.allWeights(input.example, input.scaled),
  mapOf: () => widget.mapOf(widget.allWeights(input.example), input.place, input.layer),
  likeness: () => ({
    scores: widget.scoresOf(input.query, input.keys),
    weights: widget.weightsOf(input),
  }),
  saturation: () =>
    widget.SIZES.map((size) =>
      widget.measure(widget.draw(input.seed).get(size), size, input.scaled),
    ),
  shuffled: () => ({
    ...widget.compare(input),
    embedded: input.tiles.map((word) => widget.embed(word, input.weights[0][0].length)),
  }),
  lookup: () => widget.lookup(input),
  masked: () => input.tokens.map((_, i) => widget.row(input, i)),
  squares: () =>
    Object.keys(widget.PRESETS).map((name) => widget.square(name, input.n, input.padding)),
  clocks: () => ({ vectors: widget.vectors(input), curve: widget.curve(input) }),
  race: () =>
    ["recurrent", "attention"].map((kind) => ({
      stages: widget.schedule(kind, input),
      now: widget.after(widget.schedule(kind, input), input.workers, input.step),
      words: widget.words(kind, input, input.step),
    })),
  swaps: () => {
    const [one, two] = input.counts.map(widget.parse);
    const now = widget.measure(widget.prepare(one, two, input.size), input.trials, input.seed);
    const reach = widget.reachOf(now.gaps, now.gap);
    return { ...now, reach, bins: widget.histogram(now.gaps, now.gap, reach) };
  },
  rungs: () =>
    Object.keys(input.measures).map((name) =>
      input.rungs.map((one, i) =>
        widget.gain(one, input.rungs[widget.partner(input.rungs, i, input.against)], name),
      ),
    ),
  look: () => input.example.target.map((_, i) => widget.look(input.example, i)),
  /** The vector after each letter, and the logits when `tokens` are fed. */
  run: () => {
    const weights = widget.unpack(input.models[input.width]);
    const vectors = widget.encode(weights, input.source);
    const c = vectors[vectors.length - 1];
    let state = widget.linear(weights, "bridge.weight", "bridge.bias", c).map(Math.tanh);
    const logits = input.tokens.map((token) => {
      const now = widget.step(weights, token, state, c);
      state = now.state;
      return Array.from(now.logits);
    });
    const { written } = widget.copy(weights, input.source);
    return { vectors: vectors.map((v) => Array.from(v)), logits, written };
  },
};
console.log(JSON.stringify(jobs[job]()));
