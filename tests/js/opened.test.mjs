// The opened Transformer's pure functions: its stations, and what changed.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  before,
  changed,
  outcome,
  rowOf,
  stationsOf,
  worked,
} from "../../src/lookback/widgets/stations.js";
import { tour } from "../../src/lookback/widgets/tour.js";
import { patching } from "../../src/lookback/widgets/tracer.js";

test("every station has a name of its own, and comes after what it is made of", () => {
  const all = stationsOf(4);
  const names = all.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const station of all) {
    if (station.kind !== "stream") continue;
    assert.ok(names.indexOf(before(station)) < names.indexOf(station.name), station.name);
  }
  assert.equal(before(all[names.indexOf("decoder.2.cross.stream")]), "decoder.2.attention.stream");
  assert.equal(before(all[names.indexOf("encoder.0.attention.norm")]), "encoder.stream");
});

test("a tour leads to stations that there are", () => {
  const names = new Set(stationsOf(4).map(({ name }) => name));
  for (const { go, title } of tour) assert.ok(names.has(String(go.station)), title);
  for (const { go, done, title } of tour) {
    const here = { station: "", head: 0, source: 0, target: 0, ...go };
    assert.ok(done(here), title);
  }
});

test("words that are new are marked, and how many decides the bet", () => {
  const own = "un chien mord un homme .".split(" ");
  assert.equal(outcome(own, own), 0);
  const swapped = "un homme mord un chien .".split(" ");
  assert.equal(outcome(own, swapped), 1);
  assert.equal(outcome(own, "un chien mord une femme .".split(" ")), 2);
  assert.deepEqual(changed(["un", "chat", "."], ["un", "chien", "."]).fresh, [false, true, false]);
  assert.equal(outcome(own, "bain bain bain".split(" ")), 3);
  assert.equal(outcome(own, []), 3);
});

test("a weight is shown with the sum that it comes from", () => {
  const trace = {
    "encoder.0.attention.scores": { shape: [1, 2, 2], data: Float32Array.of(1, 0, 0, 0) },
    "encoder.0.attention.weights": {
      shape: [1, 2, 2],
      data: Float32Array.of(0.7310586, 0.2689414, 0.5, 0.5),
    },
  };
  const run = { source: ["a", "dog"], target: [], steps: [], trace };
  const [station] = stationsOf(1).filter(({ name }) => name === "encoder.0.attention.weights");
  assert.deepEqual(worked(station, run, 0, 0, 1), [
    "largest: “a”",
    "α = 1 / Σ exp(e − 1.00) = 1 / 1.368 = 0.731",
  ]);
  assert.deepEqual([...rowOf(trace, station.name, 0, 1)], [0.5, 0.5]);
});

test("a patch changes its own place and head alone", () => {
  const from = {
    "encoder.0.attention.heads": { shape: [2, 4], data: Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8) },
  };
  const hook = patching(from, { name: "encoder.0.attention.head.1", position: 1 }, 2);
  const x = Float64Array.of(0, 0, 0, 0);
  assert.deepEqual([...hook("encoder.0.attention.heads", 1, x)], [0, 0, 7, 8]);
  assert.equal(hook("encoder.0.attention.heads", 0, x), x);
  assert.equal(hook("encoder.0.attention.out", 1, x), x);
});
