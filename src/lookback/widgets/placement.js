// @ts-check
// A placement test: questions one after another, each explained once answered,
// and at the end the chapter to begin with.
// Progress stays in the reader's browser. Python: placement.py.
import { follow, recall, remember } from "./lib/progress.js";
import { bar, button, element, voice, widget } from "./lib/view.js";
import { choice, grade, prose } from "./question.js";

/** A question, and the page that answers it.
 * @typedef {{question: string, options: import("./question.js").Option[], page: string,
 *   title: string}} Question */
/** @typedef {{questions: Question[], beyond: {page: string, title: string}, name: string}} State */

/** What the answers say: which are right, and where to begin. The first page
 * whose question was missed; the one beyond them all if none was.
 * @param {Question[]} questions @param {State["beyond"]} beyond @param {number[]} chosen */
export function advice(questions, beyond, chosen) {
  const right = chosen.map((one, i) => grade(questions[i].options, [one]).all);
  const count = right.filter((one) => one).length;
  const begin = questions[right.indexOf(false)] ?? beyond;
  const done = chosen.length === questions.length;
  const words = done
    ? `${count} of ${questions.length} right. Begin with “${begin.title}”.`
    : `${chosen.length} of ${questions.length} answered, ${count} right.`;
  return { right, count, begin, done, words };
}

/** Answers that this browser remembers and the questions have.
 * @param {string} key @param {Question[]} questions */
function kept(key, questions) {
  const chosen = recall(key)?.chosen;
  const fit =
    Array.isArray(chosen) &&
    chosen.length <= questions.length &&
    chosen.every((one, i) => questions[i].options[one]);
  return /** @type {number[]} */ (fit ? chosen : []);
}

/** @param {string} page @param {string} title */
function link(page, title) {
  const node = element("a", {}, title);
  node.href = `${page}.html`;
  return node;
}

/** The whole test. @param {import("./lib/view.js").Model<State>} model */
function build(model) {
  const [questions, beyond] = [model.get("questions"), model.get("beyond")];
  const key = `placement:${model.get("name")}`;
  const { say, problem, complain } = voice(model);
  // Answered ones stay on view until the reader asks for the next.
  let at = kept(key, questions).length;
  const sets = questions.map(({ question, options }, i) => {
    const choices = options.map((option) => choice(option, false));
    for (const { input } of choices) input.name = `choice-${i}`;
    const legend = element("legend", {}, `${i + 1}. `, ...prose(question));
    const node = element("fieldset", {}, legend, ...choices.map((one) => one.node));
    return { node, choices };
  });
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    const chosen = kept(key, questions);
    if (chosen.length !== at || at >= questions.length) return;
    const mine = sets[at].choices.findIndex(({ input }) => input.checked);
    complain(mine < 0 ? "Choose an answer first." : "");
    if (mine < 0) return;
    remember(key, { chosen: [...chosen, mine] });
    next.focus();
  };
  const check = button("check", "Check");
  check.type = "submit"; // so that Enter checks, too
  const next = button("next", "Next question", () => {
    at += 1;
    draw();
    if (at < questions.length) sets[at].choices[0].input.focus();
    else result.focus();
  });
  const again = button("retry", "Start over", () => {
    for (const { input } of sets.flatMap((one) => one.choices)) input.checked = false;
    at = 0;
    remember(key, null);
    sets[0].choices[0].input.focus();
  });
  const list = element("ol");
  const begin = element("p", { class: "begin" });
  const result = element(
    "div",
    { class: "result", tabindex: -1, "data-role": "result" },
    begin,
    list,
  );
  const form = element(
    "form",
    { onsubmit: submit },
    ...sets.map((one) => one.node),
    result,
    problem,
    bar(check, next, again),
    say,
  );
  const node = element("div", { class: "lookback-widget", "data-widget": "placement" }, form);
  const draw = () => {
    const chosen = kept(key, questions);
    if (chosen.length < at) at = chosen.length;
    const told = advice(questions, beyond, chosen);
    const over = told.done && at >= questions.length;
    sets.forEach(({ node, choices }, i) => {
      node.hidden = i !== at;
      const answered = i < chosen.length;
      choices.forEach((one, k) => {
        const mine = chosen[i] === k;
        one.draw(answered, mine, answered && (mine || questions[i].options[k].correct));
      });
    });
    result.hidden = !over;
    if (over) {
      begin.replaceChildren(
        `${told.count} of ${questions.length} right. Begin with `,
        link(told.begin.page, told.begin.title),
        ".",
      );
      list.replaceChildren(
        ...questions.map(({ page, title }, i) =>
          element("li", {}, told.right[i] ? "✓ " : "✗ ", link(page, title)),
        ),
      );
    }
    check.hidden = over || chosen.length > at;
    next.hidden = over || chosen.length <= at;
    next.textContent = at + 1 < questions.length ? "Next question" : "Where to begin";
    again.hidden = !chosen.length;
    say.textContent = over ? "" : told.words;
    node.dataset.state = over ? "done" : "open";
  };
  return { node, draw, stop: follow(key, draw) };
}

export default widget(["questions", "beyond", "name"], [], build, {});
