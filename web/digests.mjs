// Runs scenario files with their first seed in node: a line each with the digest, or with what went wrong.
//   node digests.mjs ENGINE.wasm SCENARIO.toml ...
import { readFileSync } from "node:fs";
import { engine } from "./engine.mjs";

const [, , wasm, ...files] = process.argv;
for (const file of files) {
  const text = readFileSync(file, "utf8");
  // An instance each: its memory only grows.
  const ask = engine(wasm);
  const { seed, errors } = ask({ ask: "parse", text });
  const run = errors ? { errors } : ask({ ask: "run", text, seed });
  console.log(`${run.digest ?? JSON.stringify(run)}\t${file}`);
}
