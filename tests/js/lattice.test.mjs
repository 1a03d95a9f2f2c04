// The lattice's pure functions, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { follow, readSentence, summed } from "../../src/lookback/widgets/lattice.js";
import {
  fit,
  lead,
  nodesOf,
  placesOf,
  taken,
  through,
  ways,
} from "../../src/lookback/widgets/paths.js";
import { bestPath, forwardSums, logSum } from "../../src/lookback/widgets/transducer.js";
import { near } from "./near.mjs";

/** Every path of T places and U words. @param {number} T @param {number} U @returns {string[]} */
const every = (T, U) =>
  U === 0
    ? [""]
    : every(T, U - 1).flatMap((path) => {
        const [t] = nodesOf(path)[path.length];
        return Array.from({ length: T - t }, (_, more) => `${path}${"s".repeat(more)}w`);
      });

const [half, never] = [Math.log(0.5), -Infinity];
/** Two places, two words: write or step, even odds; at the end only write. */
const lattice = {
  target: [4, 3],
  write: [
    [half, 0],
    [half, 0],
  ],
  step: [
    [half, never],
    [half, never],
  ],
};

test("paths are counted", () => {
  assert.equal(ways(4, 3), 20);
  assert.equal(ways(1, 9), 1);
  assert.equal(ways(15, 21), 2319959400);
  for (const [T, U] of [
    [2, 2],
    [3, 4],
    [5, 3],
  ]) {
    assert.equal(new Set(every(T, U)).size, ways(T, U));
  }
});

test("a path is where its words are written, and back", () => {
  assert.equal(through([0, 0, 2]), "wwssw");
  for (const path of every(4, 3)) assert.equal(through(placesOf(path)), path);
});

test("what leads out of the lattice is cut off", () => {
  for (const path of every(3, 3)) assert.equal(fit(path, 3, 3), path);
  assert.equal(fit("sss", 3, 3), "ss");
  assert.equal(fit("wwww", 3, 3), "www");
  assert.equal(fit("wwws", 3, 3), "www");
  assert.equal(fit("", 3, 3), "");
});

test("a path is led to a node, forwards, backwards and to the top", () => {
  for (const path of [...every(4, 3), "", "s", "wss"]) {
    for (let t = 0; t < 4; t += 1) {
      for (let u = 0; u <= 3; u += 1) {
        const led = lead(path, t, u, 3);
        assert.deepEqual(nodesOf(led)[led.length], [t, u]);
        assert.equal(fit(led, 4, 3), led);
      }
    }
  }
  assert.equal(lead("swsw", 1, 1, 3), "sw"); // back along itself
  assert.equal(lead("", 2, 2, 3), "swsw");
  assert.equal(lead("w", 1, 3, 3), "wsww"); // the end is reached by writing
});

test("the share of a beginning is that of all its paths", () => {
  const alpha = forwardSums(lattice);
  const total = logSum(alpha[2]);
  near(total, 0); // it must write both words in the end
  const beta = [
    [0, 0],
    [0, 0],
    [0, 0],
  ];
  const pair = /** @type {any} */ ({ lattice, alpha, beta, total, T: 2, U: 2 });
  near(follow(pair, "").share, 1);
  near(follow(pair, "s").share, 0.5);
  near(follow(pair, "ww").share, 0.25);
  near(Math.exp(follow(pair, "wsw").log), 0.25);
  near(
    taken("sww", lattice).reduce((a, b) => a + b),
    half,
  );
  assert.equal(bestPath(lattice), "sww");
  assert.deepEqual(summed(pair, 3), { additions: 2, paths: 3, log: total, share: 1 });
  assert.equal(summed(pair, 2).paths, 1);
  near(summed(pair, 2).share, 0.25);
  assert.equal(summed(pair, 1).log, never);
});

test("a sentence is cut as the phrasebook cuts it, and what is wrong is named", () => {
  const known = ["the", "dog", "'s", ",", ".", "sees", "April"];
  assert.equal(readSentence("The dog’s  dog,  sees", known).text, "the dog 's dog , sees .");
  assert.equal(readSentence("the dog sees April.", known).text, "the dog sees April .");
  const { problem = "" } = readSentence("the dig and the cow", known);
  assert.match(problem, /know the 7 words below, and not “dig” \(try “dog”\), “and”, “cow”\./);
  assert.match(readSentence(" . ", known).problem ?? "", /at least one/);
  assert.match(readSentence("dog ".repeat(14), known).problem ?? "", /At most 14/);
  assert.ok(readSentence("dog ".repeat(13), known).text);
});
