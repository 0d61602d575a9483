// The engine in node, for tests: the same calls as those of src/engine.ts.
import { readFileSync } from "node:fs";

/** A function that asks the engine of a .wasm file; a trap throws what the engine left behind. */
export function engine(path, progress = () => {}) {
  const module = new WebAssembly.Module(readFileSync(path));
  const x = new WebAssembly.Instance(module, { page: { progress } }).exports;
  const text = (at, bytes) => Buffer.from(x.memory.buffer, at, bytes).toString();
  x.start();
  return (question) => {
    const bytes = Buffer.from(JSON.stringify(question));
    const room = x.room(bytes.length);
    new Uint8Array(x.memory.buffer, room, bytes.length).set(bytes);
    try {
      const at = x.answer(room, bytes.length);
      return JSON.parse(text(at, x.answer_bytes()));
    } catch (error) {
      const why = x.out_of_memory() ? "out of memory" : text(x.failure(), x.failure_bytes());
      throw new Error(why || error.message, { cause: error });
    }
  };
}
