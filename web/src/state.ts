// What the page shows is one text and what it is compared with. A link has both, compressed.

export type State = {
  /** The scenario file. */
  text: string;
  /** What the other variant has: `KEY=VALUE; KEY=VALUE`; nothing for no other. */
  against: string;
};

export async function toFragment(state: State): Promise<string> {
  const packed = new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `#s=${btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** The state of a link, or nothing where it has none. */
export async function fromFragment(fragment: string): Promise<State | null> {
  const packed = /^#s=([\w-]+)$/.exec(fragment)?.[1];
  if (!packed) return null;
  try {
    const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return checked(await new Response(stream).json());
  } catch {
    return null;
  }
}

/** What others wrote, as a state. */
export function checked(given: unknown): State | null {
  const { text, against } = (given ?? {}) as Partial<State>;
  return typeof text === "string" ? { text, against: typeof against === "string" ? against : "" } : null;
}

/** `KEY=VALUE; KEY=VALUE` as pairs. A `;` within quotes or brackets separates nothing. */
export function pairs(against: string): [string, string][] {
  const parts: string[] = [];
  let [depth, quoted, part] = [0, false, ""];
  for (const letter of against) {
    if (letter === '"') quoted = !quoted;
    if (!quoted && "[{".includes(letter)) depth += 1;
    if (!quoted && "]}".includes(letter)) depth -= 1;
    if (letter === ";" && !quoted && depth === 0) {
      parts.push(part);
      part = "";
    } else {
      part += letter;
    }
  }
  parts.push(part);
  return parts
    .map((one) => one.trim())
    .filter((one) => one)
    .map((one) => {
      const sign = one.indexOf("=");
      return sign < 0 ? [one, ""] : [one.slice(0, sign).trim(), one.slice(sign + 1).trim()];
    });
}
