// @ts-check
// A question that explains what the reader chose, and the rest once the answer
// is right or the reader asks.
// Progress stays in the reader's browser. Python: quiz.py.
import { follow, recall, remember } from "./lib/progress.js";
import { bar, button, element, voice, widget } from "./lib/view.js";
import { choice, grade, prose } from "./question.js";

/** @typedef {{question: string, options: import("./question.js").Option[], name: string}} State */

/** The options that were chosen and checked in this browser.
 * @param {string} key @returns {number[] | null} */
function recallChosen(key) {
  const chosen = recall(key)?.chosen;
  return Array.isArray(chosen) ? chosen : null;
}

/** The whole quiz. @param {import("./lib/view.js").Model<State>} model */
function build(model) {
  const [question, options] = [model.get("question"), model.get("options")];
  const key = `quiz:${model.get("name")}`;
  const several = options.filter((option) => option.correct).length > 1;
  const choices = options.map((option) => choice(option, several));
  const { say, problem, complain } = voice(model);
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    const chosen = choices.flatMap(({ input }, i) => (input.checked ? [i] : []));
    complain(chosen.length ? "" : "Choose an answer first.");
    if (!chosen.length) return;
    remember(key, { chosen });
    retry.focus();
  };
  const check = button("check", "Check");
  check.type = "submit"; // so that Enter checks, too
  let asked = false;
  const reveal = button("reveal", "Explain all", () => {
    asked = true;
    draw();
    retry.focus();
  });
  const retry = button("retry", "Try again", () => {
    choices.forEach(({ input }) => {
      input.checked = false;
    });
    remember(key, null);
    choices[0].input.focus();
  });
  const node = element(
    "div",
    { class: "lookback-widget", "data-widget": "quiz" },
    element(
      "form",
      { onsubmit: submit },
      element(
        "fieldset",
        {},
        element("legend", {}, ...prose(question)),
        element("p", { class: "hint" }, several ? "More than one is correct." : "Choose one."),
        ...choices.map((one) => one.node),
      ),
      problem,
      bar(check, retry, reveal, say),
    ),
  );
  const draw = () => {
    const chosen = recallChosen(key);
    const graded = chosen && grade(options, chosen);
    asked &&= chosen !== null;
    const all = asked || graded?.all === true;
    choices.forEach((one, i) => {
      const mine = chosen?.includes(i) ?? false;
      one.draw(chosen !== null, mine, chosen !== null && (mine || all));
    });
    [check.hidden, retry.hidden] = [chosen !== null, chosen === null];
    reveal.hidden = chosen === null || all;
    say.textContent = graded ? graded.words : "";
    node.dataset.state = graded ? (graded.all ? "right" : "wrong") : "open";
  };
  return { node, draw, stop: follow(key, draw) };
}

export default widget(["question", "options", "name"], [], build, {});
