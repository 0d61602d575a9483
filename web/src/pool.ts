// Workers, one a core, and the runs that wait for them.

import type { Job, Outcome } from "./run";
import Work from "./worker?worker&inline";

export type Run = { text: string; set: [string, string][]; seed: string; series: boolean; users: [string, number][] };

type Reply = { number: number; share?: number; outcome?: Outcome; failure?: string };
type Waiting = Run & { number: number; share(share: number): void; ended(reply: Reply): void };
type Place = { worker: Worker; run: Waiting | null };

const MOST = 8;

export class Pool {
  private places: Place[] = [];
  private waiting: Waiting[] = [];
  private numbers = 0;
  private readonly size = Math.min(MOST, Math.max(1, navigator.hardwareConcurrency || 1));

  constructor(private readonly module: WebAssembly.Module) {
    // Workers stand ready before the first question.
    for (let i = 0; i < this.size; i += 1) this.places.push(this.place());
  }

  /** Runs as soon as a worker is free. */
  run(run: Run, share: Waiting["share"], ended: Waiting["ended"]): void {
    this.numbers += 1;
    this.waiting.push({ ...run, number: this.numbers, share, ended });
    this.next();
  }

  /** Forgets what waits and ends what runs: a run is one call of the engine, so its worker ends with it. */
  cancel(): void {
    this.waiting = [];
    this.places = this.places.map((place) => {
      if (!place.run) return place;
      place.worker.terminate();
      return this.place();
    });
  }

  private place(): Place {
    const place: Place = { worker: new Work(), run: null };
    place.worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      const run = place.run;
      if (!run || data.number !== run.number) return;
      if (data.share !== undefined) return run.share(data.share);
      place.run = null;
      run.ended(data);
      this.next();
    };
    place.worker.onerror = (event) => {
      const run = place.run;
      place.run = null;
      run?.ended({ number: run.number, failure: `The worker stopped: ${event.message}` });
    };
    place.worker.postMessage({ module: this.module });
    return place;
  }

  private next(): void {
    for (const place of this.places) {
      if (place.run) continue;
      const run = this.waiting.shift();
      if (!run) return;
      place.run = run;
      const { number, text, set, seed, series } = run;
      const job: Job = { number, text, set, seed, series };
      place.worker.postMessage({ job, users: run.users });
    }
  }
}
