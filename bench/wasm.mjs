// A scenario in WebAssembly, in node: one line of JSON, as tidegate-bench prints it.
//   node wasm.mjs ENGINE.wasm SCENARIO.toml SECONDS
import { readFileSync } from "node:fs";
import { engine } from "../web/engine.mjs";

const [, , wasm, file, seconds] = process.argv;
const ask = engine(wasm);
const text = readFileSync(file, "utf8");
const set = [["duration", `"${seconds} s"`]];
const run = ask({ ask: "run", text, set, seed: "1" });
if (run.errors) throw new Error(JSON.stringify(run.errors));
const { monitored, departures } = run.tables.links;
const packets = departures.filter((_, link) => monitored[link]).reduce((all, one) => all + Number(one), 0);
const peak_rss_mib = process.resourceUsage().maxRSS / 1024;
console.log(JSON.stringify({ packets, digest: run.digest, peak_rss_mib }));
