// Completion in the scenario's text: keys and words of the schema, for where the cursor is.

import { byId, el } from "./dom";

export type Schema = {
  $ref?: string;
  properties?: { [key: string]: Schema };
  additionalProperties?: Schema | boolean;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  type?: string;
  description?: string;
  default?: unknown;
};

/** What may stand at the cursor. */
export type Offer = { word: string; insert: string; about: string };
export type Offers = { from: number; offers: Offer[] };

const MOST = 12;
/** A text that is being typed: keys with dots, and quoted words. */
const HEADER = /^\s*\[\[?([\w.-]*)$/;
const KEY = /^\s*([\w.-]*)$/;
const VALUE = /^\s*([\w.-]+)\s*=\s*(.*)$/;
const WORD = /^"?([\w-]*)$/;

export class Completions {
  constructor(private readonly root: Schema & { $defs: { [name: string]: Schema } }) {}

  /** What may stand at a place of a text; nothing within comments. */
  at(text: string, cursor: number): Offers {
    const lines = text.slice(0, cursor).split("\n");
    const line = lines.pop()!;
    if (/^\s*#/.test(line)) return { from: cursor, offers: [] };
    const header = HEADER.exec(line);
    if (header) return this.headers(header[1]!, cursor);
    const section = lines.reduce((last, one) => /^\s*\[\[?([\w.-]+)\]/.exec(one)?.[1] ?? last, "");
    const places = this.follow([this.root], split(section));
    const key = KEY.exec(line);
    if (key) return this.keys(places, key[1]!, cursor);
    const value = VALUE.exec(line);
    if (!value) return { from: cursor, offers: [] };
    return this.values(this.follow(places, split(value[1]!)), value[2]!, cursor);
  }

  /** Tables that have keys of their own, by the part of a dotted name that is there. */
  private headers(typed: string, cursor: number): Offers {
    const [before, word] = lastPart(typed);
    const places = this.follow([this.root], split(before));
    const tables = this.properties(places).filter(([, one]) => this.properties(this.flat([one])).length > 0 || this.isMap(one));
    return matching(tables.map(([name, one]) => ({ word: name, insert: name, about: one.description ?? "" })), word, cursor);
  }

  private keys(places: Schema[], typed: string, cursor: number): Offers {
    const [before, word] = lastPart(typed);
    const found = this.properties(this.follow(places, split(before)));
    return matching(found.map(([name, one]) => this.offer(name, one)), word, cursor);
  }

  private values(places: Schema[], rest: string, cursor: number): Offers {
    const open = rest.lastIndexOf("{");
    if (open > rest.lastIndexOf("}")) {
      const part = rest.slice(open + 1).split(",").pop()!;
      const kind = /\bkind\s*=\s*"([\w-]+)"/.exec(rest.slice(open))?.[1];
      const chosen = kind === undefined ? places : places.filter((one) => [kind, undefined].includes(kindOf(one)));
      const key = KEY.exec(part);
      if (key) return this.keys(chosen, key[1]!, cursor);
      const value = VALUE.exec(part);
      if (!value) return { from: cursor, offers: [] };
      return this.words(this.follow(places, split(value[1]!)), value[2]!, cursor);
    }
    return this.words(places, rest.replace(/^\[\s*/, ""), cursor);
  }

  /** Words that a value can be, those that name a kind among them. */
  private words(places: Schema[], typed: string, cursor: number): Offers {
    const word = WORD.exec(typed);
    if (!word) return { from: cursor, offers: [] };
    const offers = new Map<string, Offer>();
    for (const one of places) {
      const kind = kindOf(one);
      for (const value of [one.const, ...(one.enum ?? []), kind]) {
        if (typeof value === "string" && !offers.has(value)) offers.set(value, { word: value, insert: `"${value}"`, about: one.description ?? "" });
      }
      if (one.type === "boolean") {
        for (const value of ["true", "false"]) offers.set(value, { word: value, insert: value, about: one.description ?? "" });
      }
    }
    const found = matching([...offers.values()], word[1]!, cursor);
    return { ...found, from: cursor - typed.length };
  }

  private offer(name: string, one: Schema): Offer {
    const about = one.description ?? this.flat([one]).find((own) => own.description)?.description ?? "";
    return { word: name, insert: `${name} = `, about };
  }

  /** Keys of all alternatives, each once. */
  private properties(places: Schema[]): [string, Schema][] {
    const found = new Map<string, Schema>();
    for (const one of places) {
      for (const [name, own] of Object.entries(one.properties ?? {})) {
        if (!found.has(name)) found.set(name, own);
      }
    }
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  private isMap(one: Schema): boolean {
    return this.flat([one]).some((own) => typeof own.additionalProperties === "object");
  }

  /** Schemas of a key below these, alternatives in one row. */
  private follow(places: Schema[], path: string[]): Schema[] {
    return path.reduce((now, part) => {
      const next = now.flatMap((one) => {
        const own = one.properties?.[part] ?? one.additionalProperties;
        return typeof own === "object" ? [own] : [];
      });
      return this.flat(next);
    }, this.flat(places));
  }

  private flat(places: Schema[]): Schema[] {
    return places.flatMap((one) => {
      const named = one.$ref ? this.flat([this.root.$defs[one.$ref.slice("#/$defs/".length)] ?? {}]) : [];
      const rest = [...(one.oneOf ?? []), ...(one.anyOf ?? []), ...(one.items ? [one.items] : [])];
      return [one, ...named, ...this.flat(rest)];
    });
  }
}

function kindOf(one: Schema): string | undefined {
  const kind = one.properties?.kind?.const;
  return typeof kind === "string" ? kind : undefined;
}

function split(dotted: string): string[] {
  return dotted.split(".").filter((part) => part);
}

function lastPart(dotted: string): [string, string] {
  const dot = dotted.lastIndexOf(".");
  return [dotted.slice(0, Math.max(dot, 0)), dotted.slice(dot + 1)];
}

/** Those that begin with a word, then those that contain it. */
function matching(offers: Offer[], word: string, cursor: number): Offers {
  const begin = offers.filter((one) => one.word.startsWith(word) && one.word !== word);
  const within = offers.filter((one) => one.word.includes(word, 1) && !begin.includes(one) && word);
  return { from: cursor - word.length, offers: [...begin, ...within].slice(0, MOST) };
}

/** Shows offers below a text while it is typed, or on Ctrl+Space; the keyboard chooses. */
export function complete(text: HTMLTextAreaElement, completions: Completions, changed: () => void): void {
  const list = byId<HTMLUListElement>("completions");
  let shown: Offers = { from: 0, offers: [] };
  let chosen = 0;
  text.setAttribute("aria-controls", list.id);
  text.setAttribute("aria-autocomplete", "list");

  const hide = (): void => {
    shown = { from: 0, offers: [] };
    list.hidden = true;
    text.removeAttribute("aria-activedescendant");
  };
  const choose = (number: number): void => {
    chosen = (number + shown.offers.length) % shown.offers.length;
    list.querySelectorAll("li").forEach((one, place) => one.setAttribute("aria-selected", String(place === chosen)));
    text.setAttribute("aria-activedescendant", `completion-${chosen}`);
  };
  const take = (number: number): void => {
    const { insert } = shown.offers[number]!;
    text.setRangeText(insert, shown.from, text.selectionStart, "end");
    hide();
    text.focus();
    changed();
  };
  const offer = (least: number): void => {
    const cursor = text.selectionStart;
    shown = cursor === text.selectionEnd ? completions.at(text.value, cursor) : { from: cursor, offers: [] };
    if (!shown.offers.length || cursor - shown.from < least) return hide();
    list.replaceChildren(...shown.offers.map(({ word, about }, number) =>
      el("li", { role: "option", id: `completion-${number}`, onmousedown: (event: Event) => (event.preventDefault(), take(number)) },
        el("code", {}, word), ` ${about.split(/(?<=[.:])\s/)[0]}`)));
    list.hidden = false;
    choose(0);
  };
  text.addEventListener("input", () => offer(1));
  text.addEventListener("blur", hide);
  text.addEventListener("keydown", (event) => {
    if (event.ctrlKey && event.code === "Space") {
      event.preventDefault();
      return offer(0);
    }
    if (list.hidden) return;
    const acts: { [key: string]: () => void } = {
      ArrowDown: () => choose(chosen + 1), ArrowUp: () => choose(chosen - 1),
      Enter: () => take(chosen), Tab: () => take(chosen), Escape: hide,
    };
    if (!acts[event.key] || event.shiftKey) return;
    event.preventDefault();
    acts[event.key]!();
  });
}
