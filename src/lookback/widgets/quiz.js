// @ts-check
// A question that explains what the reader chose, and the rest once the answer
// is right or the reader asks.
// Progress stays in the reader's browser. Python: quiz.py.
import { follow, recall, remember } from "./lib/progress.js";
import { bar, button, element, voice, widget } from "./lib/view.js";

/** @typedef {{text: string, correct: boolean, why: string}} Option */
/** @typedef {{question: string, options: Option[], name: string}} State */

/** Whether exactly the correct options are chosen, and what to say of it.
 * @param {Option[]} options @param {number[]} chosen */
export function grade(options, chosen) {
  const right = options.filter(({ correct }, i) => correct === chosen.includes(i)).length;
  const hit = options.filter(({ correct }, i) => correct && chosen.includes(i)).length;
  const correct = options.filter((option) => option.correct).length;
  const all = right === options.length;
  const some = correct > 1 ? `: ${hit} of the ${correct} correct answers` : "";
  return { all, hit, correct, words: all ? "Right." : `Not yet${some}.` };
}

/** The options that were chosen and checked in this browser.
 * @param {string} key @returns {number[] | null} */
function recallChosen(key) {
  const chosen = recall(key)?.chosen;
  return Array.isArray(chosen) ? chosen : null;
}

/** Text in which `backticks` mark code. @param {string} text */
const prose = (text) =>
  text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));

/** One option: its box or dot, its text, its verdict and the reason.
 * @param {Option} option @param {boolean} several may be correct */
function choice(option, several) {
  const input = element("input", {
    type: several ? "checkbox" : "radio",
    name: "choice",
    "data-action": "choose",
  }); // the name's scope is the form
  const verdict = element("span", { class: "verdict" });
  const why = element("p", { class: "why", "data-role": "why", hidden: true });
  const node = element(
    "div",
    { class: "option" },
    element("label", {}, input, element("span", {}, ...prose(option.text))),
    why,
  );
  why.append(verdict, " ", ...prose(option.why));
  return {
    node,
    input,
    /** @param {boolean} checked @param {boolean} chosen @param {boolean} told explained? */
    draw(checked, chosen, told) {
      if (checked) input.checked = chosen;
      input.disabled = checked;
      why.hidden = !told;
      node.dataset.verdict = told ? (option.correct ? "correct" : "wrong") : "";
      verdict.textContent =
        (option.correct ? "✓ Correct" : "✗ Not so") + (chosen ? ", and you chose it." : ".");
    },
  };
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
