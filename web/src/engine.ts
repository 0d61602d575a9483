// The engine: WebAssembly behind one function, a question in JSON and an answer in JSON.

type Exports = {
  memory: WebAssembly.Memory;
  start(): void;
  room(bytes: number): number;
  answer(question: number, bytes: number): number;
  answer_bytes(): number;
  failure(): number;
  failure_bytes(): number;
  out_of_memory(): number;
};

export type Diagnostic = {
  line: number | null;
  column: number | null;
  key: string;
  message: string;
  suggestion: string | null;
  text: string;
};

/** Pairs of a key and the text of its value. */
export type Overrides = [string, string][];

export type Resolved = { [key: string]: Value };
export type Value = string | number | boolean | null | Value[] | Resolved;

export type Parsed = {
  name: string | null;
  description: string | null;
  seed: string;
  replications: number;
  warm_up_s: number;
  duration_s: number;
  groups: { name: string; users: number; flows: number }[];
  links: { name: string; rate_bps: number; delay_s: number }[];
  warnings: Diagnostic[];
  lacks: Diagnostic[];
  packets: number;
  resolved: Resolved;
};

export type Column = (number | string | boolean | null)[];
export type Tables = { [table: string]: { [column: string]: Column } };

export type Refusal = { errors?: Diagnostic[]; failure?: string };

/** Unpacks and compiles the engine that stands in the page. */
export async function compiled(packed: string): Promise<WebAssembly.Module> {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** An instance. One that has failed starts again with the next question. */
export class Engine {
  private exports: Exports | null = null;

  constructor(
    private readonly module: WebAssembly.Module,
    private readonly progress: (share: number) => void = () => {},
  ) {}

  /** Asks; whatever goes wrong is a sentence in the answer. */
  ask<Answer>(question: object): Answer & Refusal {
    try {
      this.exports ??= this.instance();
      return JSON.parse(this.answer(this.exports, new TextEncoder().encode(JSON.stringify(question))));
    } catch (error) {
      const failure = this.sentence(error);
      this.exports = null;
      return { failure } as Answer & Refusal;
    }
  }

  private instance(): Exports {
    const imports = { page: { progress: this.progress } };
    const exports = new WebAssembly.Instance(this.module, imports).exports as unknown as Exports;
    exports.start();
    return exports;
  }

  private answer(engine: Exports, question: Uint8Array): string {
    const room = engine.room(question.length);
    new Uint8Array(engine.memory.buffer, room, question.length).set(question);
    const at = engine.answer(room, question.length);
    return text(engine, at, engine.answer_bytes());
  }

  private sentence(error: unknown): string {
    const engine = this.exports;
    if (engine && engine.out_of_memory()) {
      return "The run needs more memory than this page has (1 GiB): let there be fewer users or flows, or run it natively.";
    }
    if (engine && engine.failure_bytes()) {
      return `The engine stopped: ${text(engine, engine.failure(), engine.failure_bytes())}`;
    }
    return `The engine stopped: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function text(engine: Exports, at: number, bytes: number): string {
  return new TextDecoder().decode(new Uint8Array(engine.memory.buffer, at, bytes));
}
