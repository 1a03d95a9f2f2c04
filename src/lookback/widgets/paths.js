// @ts-check
// Paths through a transducer's lattice, as letters: "s", a blank steps on to the
// next place; "w", a word is written. T places of the source, U words to emit.

/** C(T − 1 + U, U), the monotonic ways to emit U words at T places.
 * @param {number} T @param {number} U */
export function ways(T, U) {
  let count = 1;
  for (let i = 1; i <= U; i += 1) count = (count * (T - 1 + i)) / i;
  return count;
}

/** Every node of a path: its place in the source, and how much is emitted.
 * @param {string} moves @returns {[t: number, u: number][]} */
export function nodesOf(moves) {
  /** @type {[number, number][]} */
  const nodes = [[0, 0]];
  for (const move of moves) {
    const [t, u] = nodes[nodes.length - 1];
    nodes.push(move === "s" ? [t + 1, u] : [t, u + 1]);
  }
  return nodes;
}

/** As much of a path as a lattice has room for; with the last word it ends.
 * @param {string} moves @param {number} T @param {number} U */
export function fit(moves, T, U) {
  const nodes = nodesOf(moves);
  const out = nodes.findIndex(([t, u], i) => t >= T || (nodes[i - 1]?.[1] ?? 0) >= U || u > U);
  return out < 0 ? moves : moves.slice(0, out - 1);
}

/** The path that writes word u at `places[u]`. @param {number[]} places */
export const through = (places) =>
  places.map((t, u) => `${"s".repeat(t - (u ? places[u - 1] : 0))}w`).join("");

/** Where each word was written. @param {string} moves */
export const placesOf = (moves) =>
  nodesOf(moves)
    .filter((_, i) => moves[i] === "w")
    .map(([t]) => t);

/** The path led to a node: back along itself as far as need be, then straight.
 * @param {string} moves @param {number} t @param {number} u @param {number} U
 * @returns {string} */
export function lead(moves, t, u, U) {
  if (u >= U) return `${lead(moves, t, U - 1, U)}w`;
  const nodes = nodesOf(moves);
  let keep = nodes.length - 1;
  while (nodes[keep][0] > t || nodes[keep][1] > u) keep -= 1;
  const [steps, words] = [t - nodes[keep][0], u - nodes[keep][1]];
  let more = "";
  for (let [i, j] = [0, 0]; i < steps || j < words; ) {
    const step = j === words || (i < steps && (i + 0.5) * words <= (j + 0.5) * steps);
    more += step ? "s" : "w";
    if (step) i += 1;
    else j += 1;
  }
  return moves.slice(0, keep) + more;
}

/** log p of a path's moves, one by one.
 * @param {string} moves @param {import("./transducer.js").Lattice} lattice */
export const taken = (moves, { write, step }) =>
  nodesOf(moves)
    .slice(0, moves.length)
    .map(([t, u], i) => (moves[i] === "w" ? write : step)[u][t]);
