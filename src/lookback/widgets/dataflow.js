// @ts-check
// The tensors of a Transformer, station by station: shape, numbers, parameters
// and products, at sizes that the reader sets. Python: dataflow.py.
import {
  button,
  change,
  element,
  frame,
  lines,
  mount,
  scroller,
  tableButton,
  tableOf,
  transport,
  tune,
} from "./shared.js";
import {
  elements,
  grouped,
  KNOBS,
  PARTS,
  refuse,
  sentence,
  shapeOf,
  side,
  stations,
  totals,
} from "./stations.js";

/** @typedef {import("./shared.js").Model} Model */
/** @typedef {import("./stations.js").Sizes} Sizes */
/** @typedef {import("./stations.js").Station} Station */

const LABELS = { source: "source words", target: "target words" };
const PRESETS = {
  ours: { d_model: 256, heads: 4, d_ff: 1024, layers: 3 },
  base: { d_model: 512, heads: 8, d_ff: 2048, layers: 6 },
  big: { d_model: 1024, heads: 16, d_ff: 4096, layers: 6 },
};

const stateOf = (model) => Object.fromEntries([...KNOBS, "mode"].map((k) => [k, model.get(k)]));

/** The fields, the presets and the two modes. */
function controls(view) {
  const field = (name) => {
    const typed = () => {
      const text = box.value.trim();
      const value = /^\d+$/.test(text.replace(/[,\s]/g, ""))
        ? Number(text.replace(/[,\s]/g, ""))
        : NaN;
      const wrong = Number.isNaN(value)
        ? `${name}: “${text}” is not a whole number`
        : refuse({ ...view.sizes(), [name]: value });
      if (!wrong) return view.set({ [name]: value });
      view.draw();
      view.complain(`${wrong}. It stays ${grouped(view.sizes()[name])}.`);
    };
    const box = element("input", {
      type: "text",
      inputmode: "numeric",
      autocomplete: "off",
      "data-action": name,
      onchange: typed,
    });
    return { name, box, node: element("label", { class: "knob" }, LABELS[name] ?? name, box) };
  };
  const fields = KNOBS.map(field);
  const modes = ["training", "generation"].map((mode) =>
    button(mode, mode, () => view.set({ mode })),
  );
  const presets = Object.keys(PRESETS).map((name) =>
    button(name, name, () => view.set(PRESETS[name]), `sizes: ${name}`),
  );
  return {
    node: element(
      "div",
      {},
      element("div", { class: "knobs" }, ...fields.map((one) => one.node)),
      element("div", { class: "bar" }, ...modes, element("span", { class: "gap" }), ...presets),
    ),
    draw(sizes) {
      fields.forEach(({ name, box }) => {
        box.value = grouped(sizes[name]);
      });
      modes.forEach((one) =>
        one.setAttribute("aria-pressed", String(one.dataset.action === sizes.mode)),
      );
      presets.forEach((one) =>
        one.setAttribute(
          "aria-pressed",
          String(Object.entries(PRESETS[one.dataset.action]).every(([k, n]) => sizes[k] === n)),
        ),
      );
    },
  };
}

/** The route: two columns of boxes, each with a dot for every station. */
function route(parts, go) {
  const boxes = parts.map(([part, first, count]) => {
    const dots = Array.from({ length: count }, () => element("i"));
    const name = `${side(part)}: ${PARTS[part]}`;
    const node = element(
      "button",
      {
        type: "button",
        class: "leg",
        "data-action": `part-${part}`,
        "aria-label": name,
        onclick: () => go(first),
      },
      PARTS[part],
      element("span", { class: "dots", "aria-hidden": "true" }, ...dots),
    );
    return { part, first, node, dots };
  });
  const column = (which, ...more) =>
    element(
      "div",
      { class: "column" },
      element("p", { class: "side" }, which),
      ...boxes.filter(({ part }) => side(part) === which).map((box) => box.node),
      ...more,
    );
  const over = element("p", { class: "over" }, "keys and values →");
  return {
    node: element("div", { class: "path" }, column("encoder", over), column("decoder")),
    draw(step) {
      boxes.forEach(({ first, node, dots }) => {
        const inside = step >= first && step < first + dots.length;
        node.setAttribute("aria-current", inside ? "step" : "false");
        dots.forEach((dot, i) => dot.classList.toggle("now", first + i === step));
      });
    },
  };
}

/** The tensor of a station: its axes, its counts, and a box in proportion. */
function tensor() {
  const axes = element("p", { class: "axes" });
  const cell = (role) => element("b", { "data-role": role });
  const [held, weights, made] = ["elements", "parameters", "products"].map(cell);
  const box = element("div", { class: "tensor", "aria-hidden": "true" });
  const sum = element("p", { class: "sum" });
  const put = (node, n) => {
    node.dataset.value = n;
    node.textContent = grouped(n);
  };
  return {
    node: element(
      "div",
      { class: "shown" },
      element("div", { class: "sheet" }, box),
      element(
        "div",
        {},
        axes,
        element(
          "p",
          { class: "counts" },
          held,
          " numbers · ",
          weights,
          " parameters · ",
          made,
          " products",
        ),
        sum,
      ),
    ),
    draw(one, total, sizes) {
      axes.replaceChildren(
        ...one.shape.map(([name, n]) =>
          element(
            "span",
            { class: "length", "data-role": "axis", "data-name": name, "data-value": n },
            name === "1" ? "1" : `${name} ${grouped(n)}`,
          ),
        ),
      );
      put(held, elements(one));
      put(weights, one.parameters);
      put(made, one.products);
      const [rows, columns] = one.shape.slice(-2).map(([, n]) => Math.log2(n + 1) / 20);
      tune(box, "--rows", rows);
      tune(box, "--columns", columns);
      sum.textContent =
        `The whole model: ${grouped(total.parameters)} parameters. ` +
        (sizes.mode === "training"
          ? `One pass forward: ${grouped(total.products)} products.`
          : `Reading the source, once: ${grouped(total.once)} products. This one word more: ` +
            `${grouped(total.products)}.`);
    },
  };
}

/** The whole widget. @param {Model} model */
function build(model) {
  const [say, problem] = lines();
  const complain = (text) => {
    problem.textContent = text;
  };
  const set = (changes) => {
    complain("");
    change(model, changes);
  };
  const first = stations(stateOf(model));
  const last = first.length - 1;
  const at = () => ({ step: Math.min(model.get("step"), last), last });
  const walk = transport(at, (step) => set({ step }));
  const parts = Object.keys(PARTS).map((part) => [
    part,
    first.findIndex((one) => one.part === part),
    first.filter((one) => one.part === part).length,
  ]);
  const [top, path, shown] = [
    controls({ sizes: () => stateOf(model), set, complain, draw }),
    route(parts, walk.to),
    tensor(),
  ];
  const figure = element("div", {}, path.node, shown.node);
  const table = scroller("every station", { hidden: true });
  function draw() {
    const [{ step }, sizes] = [at(), stateOf(model)];
    const all = stations(sizes);
    top.draw(sizes);
    path.draw(step);
    walk.draw();
    shown.draw(all[step], totals(all), sizes);
    table.replaceChildren(
      tableOf(
        ["station", "shape", "numbers", "parameters", "products", "layers"],
        all.map((one) => [
          `${PARTS[one.part]}: ${one.name}`,
          shapeOf(one),
          grouped(elements(one)),
          grouped(one.parameters),
          grouped(one.products),
          String(one.times),
        ]),
      ),
    );
    say.textContent = sentence(all, step);
  }
  const node = frame(
    "dataflow",
    "The tensors of a Transformer, station by station",
    at,
    walk.to,
    top.node,
    problem,
    element("div", { class: "bar" }, ...walk.nodes, tableButton(figure, table)),
    say,
    figure,
    table,
  );
  return { node, draw, stop: walk.stop };
}

/** @param {{model: Model, el: HTMLElement}} context */
const render = (context) => mount(context, [], [...KNOBS, "mode", "step"], build);

export default { render };
