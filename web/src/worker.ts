// A worker simulates one run at a time.

import { Engine, type Tables } from "./engine";
import { outcome, type Job } from "./run";

let engine: Engine | null = null;
let current = 0;

onmessage = ({ data }: MessageEvent<{ module?: WebAssembly.Module; job?: Job; users?: [string, number][] }>) => {
  if (data.module) {
    engine = new Engine(data.module, (share) => postMessage({ number: current, share }));
    return;
  }
  const job = data.job!;
  current = job.number;
  const answer = engine!.ask<{ digest: string; tables: Tables }>({ ask: "run", text: job.text, set: job.set, seed: job.seed });
  if (answer.tables) {
    postMessage({ number: job.number, outcome: outcome(answer.digest, answer.tables, new Map(data.users), job.series) });
  } else {
    postMessage({ number: job.number, failure: answer.failure ?? answer.errors?.map((error) => error.text).join("; ") });
  }
};
