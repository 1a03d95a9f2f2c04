// @ts-check
// One number passed on: h ← tanh(w h + x). A pulse goes in at step 1, and at
// every step stand the state that is kept and the gradient that comes back.

import { axis, columns, tiles } from "./lib/chart.js";
import { integer, real } from "./lib/link.js";
import { within } from "./lib/maths.js";
import { digits, grouped } from "./lib/text.js";
import {
  bar,
  element,
  frame,
  scroller,
  slider,
  tableButton,
  tableOf,
  transport,
  vector,
  voice,
  widget,
} from "./lib/view.js";
import limits from "./relay.json" with { type: "json" };

/** @typedef {{w: number, pulse: number, step: number}} State */

const { steps: STEPS, reach: REACH } = limits;

/** h_0 = 0, h_1 = tanh(pulse), then h_t = tanh(w h_{t−1}): the states to STEPS.
 * @param {number} w @param {number} pulse */
export function relay(w, pulse) {
  const states = [0];
  for (let t = 1; t <= STEPS; t += 1) {
    states.push(Math.tanh(w * states[t - 1] + (t === 1 ? pulse : 0)));
  }
  return states;
}

/** ∂h_t/∂h_{t−1} = w (1 − h_t²), the factor of step t.
 * @param {number} w @param {number} h the state after the step */
export const factor = (w, h) => w * (1 - h * h);

/** ∂h_step/∂h_k for k = 1 … step: from here back to the pulse.
 * @param {number} w @param {number[]} states @param {number} step */
export function back(w, states, step) {
  const found = step ? [1] : [];
  for (let k = step; k > 1; k -= 1) found.unshift(found[0] * factor(w, states[k]));
  return found;
}

/** What a factor does, in words. @param {number} g */
export function arrives(g) {
  if (g === 0) return "does not arrive";
  if (g < 1e-9) return `arrives divided by ${short(1 / g)}`;
  if (g < 0.01) return `arrives divided by ${grouped(Math.round(1 / g))}`;
  if (g >= 100) return `arrives multiplied by ${grouped(Math.round(g))}`;
  return `arrives multiplied by ${digits(g)}`;
}

/** A factor in few letters: 3.2 · 10⁻⁷. @param {number} g */
export function short(g) {
  if (g === 0 || (g >= 0.01 && g < 1000)) return digits(g, 3);
  const [times, power] = g.toExponential(1).split("e");
  const raised = [...power.replace("+", "")].map((one) =>
    one === "-" ? "\u207b" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(one)],
  );
  return `${times} · 10${raised.join("")}`;
}

/** A number with its sign. @param {number} x @param {number} places */
const signed = (x, places) => `${x > 0 ? "+" : ""}${digits(x, places)}`;

/** The step in words. @param {State} state */
export function sentence({ w, pulse, step }) {
  const given = `w = ${digits(w, 1)}, pulse ${signed(pulse, 1)}.`;
  if (!step) return `${given} Before the pulse the state is 0.`;
  const states = relay(w, pulse);
  const now = `${given} Step ${step} of ${STEPS}: the state is ${signed(states[step], 3)}.`;
  if (step === 1) return `${now} The pulse has just gone in.`;
  const g = back(w, states, step)[0];
  return `${now} A small change of the state at step 1 ${arrives(g)}.`;
}

/** How high a factor stands between 10^−REACH and 10^REACH. @param {number} g */
export const height = (g) => within(0, (Math.log10(g) + REACH) / (2 * REACH), 1);

/** Every step: its state, its factor, what comes back to it. @param {State} state */
function rows({ w, pulse, step }) {
  const states = relay(w, pulse);
  const found = back(w, states, step);
  return tableOf(
    ["step", "state", "factor of the step", `gradient from step ${step}`],
    states
      .slice(1)
      .map((h, i) => [
        String(i + 1),
        digits(h, 3),
        i ? short(factor(w, h)) : "–",
        i < step ? short(found[i]) : "–",
      ]),
  );
}

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const { say, set } = voice(model);
  const at = () => ({ step: model.get("step"), last: STEPS });
  const walk = transport(at, (step) => set({ step }), 500);
  /** @param {"w" | "pulse"} name @param {string} spoken @param {number} least */
  const dial = (name, spoken, least) => {
    const most = limits[name];
    const range = slider(name, { min: least, max: most, step: 0.1, "aria-label": spoken }, (x) =>
      set({ [name]: x }),
    );
    const number = element("b", { class: "number" });
    return {
      node: element("label", { class: "dial" }, element("span", {}, spoken), range, number),
      /** @param {number} x */
      draw(x) {
        range.value = String(x);
        number.textContent = digits(x, 1);
      },
    };
  };
  const dials = { w: dial("w", "w", 0), pulse: dial("pulse", "pulse", -limits.pulse) };
  const kept = vector(STEPS, "state");
  const gradient = columns("gradient", STEPS);
  const numbers = tiles(/** @type {const} */ (["now", "factor", "back"]));
  const ends = axis(["step 1", `step ${STEPS}`].map((text) => element("span", {}, text)));
  const figure = element(
    "div",
    { class: "charts" },
    element("div", {}, element("p", { class: "head" }, "state at each step"), kept.node, ends),
    element(
      "div",
      {},
      element("p", { class: "head" }, "gradient from here back to each step"),
      element(
        "div",
        { class: "scaled" },
        gradient.node,
        element(
          "div",
          { class: "scale", "aria-hidden": "true" },
          element("span", {}, "million"),
          element("span", {}, "1"),
          element("span", {}, "millionth"),
        ),
      ),
    ),
    numbers.node,
  );
  const table = scroller("state and gradient at every step", { hidden: true });
  const node = frame(
    "relay",
    "One number passed on",
    at,
    walk.to,
    bar(dials.w.node, dials.pulse.node),
    bar(...walk.nodes, tableButton(figure, table)),
    say,
    figure,
    table,
  );
  return {
    node,
    stop: walk.stop,
    draw() {
      const state = read();
      const { w, pulse, step } = state;
      const states = relay(w, pulse);
      const found = back(w, states, step);
      dials.w.draw(w);
      dials.pulse.draw(pulse);
      const shown = states.slice(1).map((h, i) => (i < step ? h : 0));
      kept.fill(shown, 1);
      [...kept.node.children].forEach((one, i) => {
        one.classList.toggle("now", i === step - 1);
      });
      gradient.each.forEach((one, i) => {
        const g = i < step ? found[i] : 0;
        gradient.set(i, g, i < step ? height(g) : 0);
        one.classList.toggle("now", i === step - 1);
      });
      const last = step > 1 ? factor(w, states[step]) : 1;
      const whole = step ? found[0] : 1;
      numbers.fill({
        now: ["state now", states[step], digits(states[step], 3)],
        factor: ["factor of the last step, w (1 − h²)", last, step > 1 ? short(last) : "–"],
        back: ["gradient back to step 1", whole, step ? short(whole) : "–"],
      });
      table.replaceChildren(rows(state));
      walk.draw();
      say.textContent = sentence(state);
    },
  };
}

export default widget([], ["w", "pulse", "step"], build, {
  w: real(0, limits.w),
  pulse: real(-limits.pulse, limits.pulse),
  step: integer(0, STEPS),
});
