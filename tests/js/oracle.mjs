// Runs a widget's shipped module on the JSON of standard input and prints
// what it computed, for the Python tests to compare with torch.
import { readFileSync } from "node:fs";

const { source, job, input } = JSON.parse(readFileSync(0, "utf8"));
const widget = await import(`data:text/javascript;base64,${Buffer.from(source).toString("base64")}`);

const jobs = {
  exports: () => [Object.keys(widget), Object.keys(widget.default)],
  stages: () => widget.stages(input),
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
