// Sets formulas as they come: one JSON request a line in, one answer a line
// out. Started by mathematics.py with the path of katex.mjs as its argument.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const katex = (await import(pathToFileURL(process.argv[2]).href)).default;

for await (const line of createInterface({ input: process.stdin })) {
  const { tex, display } = JSON.parse(line);
  let answer;
  try {
    const html = katex.renderToString(tex, {
      displayMode: display,
      output: "htmlAndMathml",
      strict: "ignore",
      throwOnError: true,
    });
    // Of one column there is no space between; Firefox says that this is none.
    answer = { html: html.replaceAll(' columnspacing=""', "") };
  } catch (error) {
    answer = { error: error instanceof Error ? error.message : String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
