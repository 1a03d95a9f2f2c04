// @ts-check
// The number that a reader means: 0.25, 1/3, −0,5, 50 %, 1e-6, 10^4, √2, ln 2.

const MOST = 80; // characters; what is longer is no number that anyone types

/** @type {Map<string, (x: number) => number>} */
const FUNCTIONS = new Map(
  Object.entries({
    sqrt: Math.sqrt,
    exp: Math.exp,
    ln: Math.log,
    cos: Math.cos,
    sin: Math.sin,
    tanh: Math.tanh,
  }),
);
const CONSTANTS = new Map(Object.entries({ e: Math.E, pi: Math.PI, π: Math.PI }));

// What is typed, and what is meant by it.
/** @type {[RegExp, string][]} */
const SIGNS = [
  [/[\u2010-\u2013\u2212\uFE63\uFF0D]/g, "-"],
  [/\*\*/g, "^"],
  [/[×·⋅∙]/g, "*"],
  [/[÷∶]/g, "/"],
  [/√/g, " sqrt "],
  [/^\s*[=≈~]/, ""],
  // 47 185 920: thousands apart, by a space or another mark that is no point.
  [/(?<![\d.,])\d{1,3}(?:[ _'’\u00A0\u2009\u202F]\d{3})+(?!\d)/g, ""],
];
const TOKEN = /\s*((?:\d[\d.,]*|[.,]\d+)(?:e[+-]?\d+(?![\d.,]))?|[a-zπ]+|[-+*/^()%])\s*/y;

/** A text that cannot be read: the error says why. */
class Unread extends Error {}
/** What a comma before three digits stands for: 13,800.
 * @typedef {"decimals" | "thousands"} Comma */

const unread = () =>
  new Unread(
    "this is no number that can be read; write it like −0.25, 1/3, 10^4, 1e−6, √2 or ln 2.",
  );

/** A literal number: a point or a comma before its decimals, or commas or
 * points between thousands where that is the only way to read them.
 * @param {string} text @param {Comma} [comma] */
function literal(text, comma) {
  const [digits, power = "0"] = text.split("e");
  const plain = /^[1-9]\d{0,2}(,\d{3}){2,}(\.\d+)?$|^[1-9]\d{0,2},\d{3}\.\d+$/.test(digits)
    ? digits.replaceAll(",", "")
    : /^[1-9]\d{0,2}(\.\d{3}){2,}(,\d+)?$|^[1-9]\d{0,2}\.\d{3},\d+$/.test(digits)
      ? digits.replaceAll(".", "").replace(",", ".")
      : digits.replace(/^(\d*),(\d+)$/, "$1.$2");
  if (/^[1-9]\d{0,2},\d{3}$/.test(digits)) {
    const whole = digits.replace(",", "");
    if (comma) return Number(`${comma === "thousands" ? whole : plain}e${power}`);
    throw new Unread(
      `${digits} can mean ${plain} or ${whole}; write a point, or leave the comma out.`,
    );
  }
  if (!/^(\d+\.?\d*|\.\d+)$/.test(plain)) throw unread();
  return Number(`${plain}e${power}`);
}

/** The number that a text means; NaN or infinity where it has no other value;
 * null where nothing is typed; a sentence where it cannot be read, or where a
 * comma can stand for two things and `comma` does not say for which.
 * @param {string} text @param {Comma} [comma] @returns {number | string | null} */
export function readNumber(text, comma) {
  if (text.trim() === "") return null;
  if (text.length > MOST) return `this is too long; a number has ${MOST} characters at most.`;
  try {
    return evaluate(tokensOf(text), comma);
  } catch (error) {
    if (error instanceof Unread) return error.message;
    throw error;
  }
}

/** @param {string} text */
function tokensOf(text) {
  let plain = text.toLowerCase();
  for (const [sign, means] of SIGNS) {
    plain = plain.replace(sign, (found) => means || found.replace(/[^\d]/g, ""));
  }
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < plain.length) {
    const found = TOKEN.exec(plain);
    if (!found) throw unread();
    tokens.push(found[1] === "x" ? "*" : found[1]);
  }
  return tokens;
}

/** sum = product ± …, product = signed · …, signed = −power, power = part^signed.
 * @param {string[]} tokens @param {Comma} [comma] */
function evaluate(tokens, comma) {
  let at = 0;
  /** @param {string[]} wanted */
  const take = (...wanted) => (wanted.includes(tokens[at]) ? tokens[at++] : null);
  /** @returns {number} */
  const sum = () => {
    let x = product();
    for (let sign = take("+", "-"); sign; sign = take("+", "-")) {
      x = sign === "+" ? x + product() : x - product();
    }
    return x;
  };
  const product = () => {
    let x = signed();
    for (let sign = take("*", "/"); sign; sign = take("*", "/")) {
      x = sign === "*" ? x * signed() : x / signed();
    }
    return x;
  };
  /** @returns {number} */
  const signed = () => (take("-") ? -signed() : take("+") ? signed() : power());
  const power = () => {
    const base = part();
    const x = take("^") ? base ** signed() : base;
    return take("%") ? x / 100 : x;
  };
  const part = () => {
    const token = tokens[at++] ?? "";
    if (token === "(") {
      const x = sum();
      if (!take(")")) throw unread();
      return x;
    }
    const known = FUNCTIONS.get(token);
    if (known) return known(signed());
    const constant = CONSTANTS.get(token);
    if (constant) return constant;
    if (!/^[\d.,]/.test(token)) throw unread();
    return literal(token, comma);
  };
  const value = sum();
  if (at < tokens.length) throw unread();
  return value;
}
