// The page: one state (a scenario and what it is compared with), shown as controls, as text and as results.

import { Charts } from "./charts";
import { complete, Completions, type Schema } from "./completion";
import { Controls, placesOfLinks, type Definitions } from "./controls";
import { byId, el } from "./dom";
import { commands, csv, numbers, png, save, svg } from "./downloads";
import { compiled, Engine, type Diagnostic, type Overrides, type Parsed, type Resolved, type Value } from "./engine";
import { SITUATIONS } from "./gallery";
import { Pool } from "./pool";
import { bars, fillTable, sentence } from "./results";
import { checked, fromFragment, pairs, toFragment, type State } from "./state";
import { summarized, type Variant } from "./variants";

/** Beyond this number of packets a run is the native engine's. */
const MOST_PACKETS = 20e6;
const MOST_RUNS = 20;
/** After a change that is typed or dragged, wait so long for the next. */
const PAUSE_MS = 120;

const text = byId<HTMLTextAreaElement>("text");
const against = byId<HTMLInputElement>("against");
const choice = byId<HTMLSelectElement>("against-choice");
const progress = byId<HTMLProgressElement>("progress");

let variants: Variant[] = [];
let timer = 0;
/** Outcomes of an earlier state are dropped. */
let generation = 0;
let fragment = "";

async function begin(): Promise<void> {
  const module = await compiled(byId("engine").textContent!.trim());
  const engine = new Engine(module);
  const pool = new Pool(module);
  const { schema } = engine.ask<{ schema: Schema & { $defs: Definitions } }>({ ask: "schema" });
  const charts = new Charts(byId("charts"), (part) => {
    const [from, to] = part ?? [null, null];
    byId<HTMLInputElement>("zoom-from").value = from?.toFixed(1) ?? "";
    byId<HTMLInputElement>("zoom-to").value = to?.toFixed(1) ?? "";
  });
  const controls = new Controls(byId<HTMLFormElement>("controls"), schema.$defs, (changes) => {
    let edited = text.value;
    for (const [key, value] of changes) {
      const answer = engine.ask<{ text: string }>({ ask: "edit", text: edited, key, value });
      if (answer.failure) return problems([], answer.failure);
      edited = answer.text;
    }
    put({ text: edited, against: against.value });
    later();
  });

  function put(state: State): void {
    if (text.value !== state.text) text.value = state.text;
    against.value = state.against;
  }

  function later(): void {
    clearTimeout(timer);
    timer = window.setTimeout(update, PAUSE_MS);
  }

  /** Reads the state and runs it. What runs for an earlier one ends. */
  function update(): void {
    clearTimeout(timer);
    generation += 1;
    pool.cancel();
    delete byId("right").dataset.shown;
    delete byId("right").dataset.digest;
    const state = { text: text.value, against: against.value };
    void toFragment(state).then((made) => {
      fragment = made;
      history.replaceState(null, "", made);
    });
    markSituation(state);
    const parsed = engine.ask<Parsed>({ ask: "parse", text: state.text, set: [] });
    if (!parsed.resolved) return refused(parsed.errors ?? [], parsed.failure);
    controls.show(parsed);
    offer(parsed, state.against);
    const other = pairs(state.against);
    const compared = other.length ? engine.ask<Parsed>({ ask: "parse", text: state.text, set: other }) : null;
    if (compared && !compared.resolved) return refused(compared.errors ?? [], compared.failure, "compared with: ");
    const every = compared ? [parsed, compared] : [parsed];
    const lacks = every.flatMap((one) => one.lacks);
    if (lacks.length) return refused(lacks);
    problems([]);
    warn(every.flatMap(({ warnings }) => warnings));
    variants = every.map((one, number) => ({ label: "", set: number ? other : [], parsed: one, outcomes: new Map() }));
    name(variants, other);
    const packets = Math.max(...every.map((one) => one.packets));
    if (packets > MOST_PACKETS) return tooLarge(packets);
    run();
  }

  function run(): void {
    const own = generation;
    const { seed, replications, groups } = variants[0]!.parsed;
    const runs = Math.min(MOST_RUNS, replications);
    const shares = new Map<string, number>();
    const total = runs * variants.length;
    const users = groups.map((group): [string, number] => [group.name, group.users]);
    const tell = (): void => {
      progress.value = [...shares.values()].reduce((a, b) => a + b, 0) / total;
    };
    byId("state").hidden = false;
    byId("right").classList.add("running");
    tell();
    for (let number = 0; number < runs; number += 1) {
      variants.forEach((variant, place) => {
        const own_seed = String(BigInt(seed) + BigInt(number));
        const key = `${place}/${own_seed}`;
        const job = { text: text.value, set: variant.set, seed: own_seed, series: number === 0, users: place ? usersOf(variant) : users };
        pool.run(job, (share) => {
          shares.set(key, share);
          if (own === generation) tell();
        }, ({ outcome, failure }) => {
          if (own !== generation) return;
          if (!outcome) {
            generation += 1;
            pool.cancel();
            clear();
            byId("sentence").textContent = failure ?? "The run has ended without an answer.";
            byId("command").textContent = commands(file(), variants);
            return;
          }
          shares.set(key, 1);
          variant.outcomes.set(own_seed, outcome);
          tell();
          show(runs, outcome.series !== null);
        });
      });
    }
  }

  function show(runs: number, series: boolean): void {
    const least = Math.min(...variants.map(({ outcomes }) => outcomes.size));
    byId("runs").textContent = `${least} of ${runs} ${runs === 1 ? "run" : "runs"}`;
    if (!least) return;
    byId("right").classList.remove("empty");
    const summaries = variants.map(summarized);
    byId("sentence").textContent = sentence(summaries);
    byId("bars").replaceChildren(bars(summaries, Math.min(640, Math.max(320, byId("bars").clientWidth))));
    byId("right").dataset.shown = variants[0]!.parsed.name ?? "";
    fillTable(byId<HTMLTableElement>("table"), summaries, "Mean ± 95 % confidence interval of all runs so far");
    byId("command").textContent = commands(file(), variants);
    const first = variants.map(({ label, parsed, outcomes }) => ({ label, series: outcomes.get(parsed.seed)?.series ?? null }));
    const shown = first.flatMap(({ label, series }) => (series ? [{ label, series }] : []));
    byId("series").hidden = !shown.length;
    if (series && first.every((one) => one.series)) charts.show(shown);
    if (least === runs) {
      byId("right").classList.remove("running");
      const digests = variants.map(({ parsed, outcomes }) => outcomes.get(parsed.seed)!.digest);
      byId("right").dataset.digest = digests.join(" ");
      tellNotebook({ text: text.value, against: against.value, digests, rows: numbers(summaries) });
    }
  }

  function refused(errors: Diagnostic[], failure?: string, where = ""): void {
    problems(errors, failure, where);
    clear();
    byId("sentence").textContent = `The scenario is refused: ${where}${errors[0]?.text ?? failure}`;
    byId("command").textContent = "";
  }

  function tooLarge(packets: number): void {
    clear();
    byId("sentence").textContent =
      `About ${(packets / 1e6).toFixed(0)} million packets pass the bottlenecks in a run, which takes too long here. On a machine it takes seconds:`;
    byId("command").textContent = commands(file(), variants);
  }

  function file(): string {
    return `${(variants[0]?.parsed.name ?? "scenario").replace(/[^\w.-]+/g, "-")}.toml`;
  }

  function clear(): void {
    byId("right").classList.remove("running");
    byId("right").classList.add("empty");
    byId("state").hidden = true;
    byId("sentence").textContent = "";
  }

  gallery((state) => {
    put(state);
    update();
  });
  text.addEventListener("input", later);
  complete(text, new Completions(schema), later);
  against.addEventListener("change", update);
  choice.addEventListener("change", () => {
    if (choice.value === "own") return against.focus();
    against.value = choice.value;
    update();
  });
  byId("unzoom").addEventListener("click", () => charts.zoom(null));
  for (const id of ["zoom-from", "zoom-to"]) {
    byId(id).addEventListener("change", () => {
      const [from, to] = ["zoom-from", "zoom-to"].map((one) => Number.parseFloat(byId<HTMLInputElement>(one).value));
      if (from! < to!) charts.zoom([from!, to!]);
    });
  }
  addEventListener("hashchange", () => {
    if (location.hash === fragment) return;
    void fromFragment(location.hash).then((state) => {
      if (state) put(state);
      update();
    });
  });
  keep(file, charts);
  put((await fromFragment(location.hash)) ?? checked(JSON.parse(byId("given").textContent!)) ?? SITUATIONS[0]!);
  update();
}

/** Within another page, such as that of a mechanism or a notebook, its reader has chosen already. */
document.documentElement.classList.toggle("within", window.parent !== window);

/** What is chosen and what came out, for the widget of a notebook that holds this page. */
function tellNotebook(tidegate: object): void {
  if (window.parent !== window) window.parent.postMessage({ tidegate }, "*");
}

function usersOf({ parsed }: Variant): [string, number][] {
  return parsed.groups.map(({ name, users }) => [name, users]);
}

/** Variants are named by the values in which they differ. */
function name(all: Variant[], other: Overrides): void {
  const [base, compared] = all;
  if (!base) return;
  base.label = base.parsed.name ?? "this scenario";
  if (!compared) return;
  const both = other.map(([key]) => all.map(({ parsed }) => named(key, at(parsed.resolved, key))));
  const differ = both.filter(([one, two]) => one !== two);
  const label = (number: number): string => differ.map((words) => words[number]).join(", ");
  // Mechanisms of one kind differ in what has no short name.
  base.label = label(0) || "this scenario";
  compared.label = label(1) || other.map(([key, value]) => `${key.split(".").at(-1)} = ${value}`).join(", ");
}

/** A mechanism is its own name; other values have that of their key. */
function named(key: string, value: Value | undefined): string {
  const part = key.split(".").filter((one) => one !== "kind").at(-1)!;
  const words = word(value);
  const isMechanism = key.endsWith(".kind") || typeof value === "object";
  if (words === "none") return `no ${part.replaceAll("_", " ")}`;
  return isMechanism ? words : `${part.replaceAll("_", " ")} ${words}`;
}

function at(resolved: Resolved, key: string): Value | undefined {
  return key.split(".").reduce<Value | undefined>((value, part) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return part === "kind" ? value : undefined;
    return value[part];
  }, resolved);
}

function word(value: Value | undefined): string {
  if (Array.isArray(value)) return value.length ? value.map(word).join(" + ") : "none";
  if (typeof value === "object" && value) return String(value.kind ?? "set");
  return value === undefined || value === null ? "unset" : String(value);
}

/** What this scenario can be compared with. */
function offer(parsed: Parsed, chosen: string): void {
  const kind = (value: Value | undefined): string => word(value);
  const offers: [string, string][] = [["nothing else", ""]];
  for (const [key, link] of placesOfLinks(parsed.resolved)) {
    for (const [part, plain] of [["differentiation", "none"], ["scheduler", "fifo"], ["aqm", "drop-tail"]] as const) {
      if (link[part] !== undefined && kind(link[part]) !== plain) offers.push([`${part} = ${plain}${key === "bottleneck" ? "" : ` (${key})`}`, `${key}.${part}.kind=${plain}`]);
    }
  }
  const sender = kind((parsed.resolved.tcp as Resolved).congestion_control);
  for (const one of ["cubic", "reno"]) {
    if (one !== sender) offers.push([`senders = ${one}`, `tcp.congestion_control=${one}`]);
  }
  if (!offers.some(([, value]) => value === chosen)) offers.push(["what stands here:", "own"]);
  else offers.push(["something else:", "own"]);
  choice.replaceChildren(...offers.map(([label, value]) => el("option", { value }, label)));
  choice.value = offers.some(([, value]) => value === chosen) ? chosen : "own";
}

function gallery(choose: (state: State) => void): void {
  byId("gallery").replaceChildren(...SITUATIONS.map((situation) =>
    el("li", {}, el("button", { type: "button", "aria-pressed": "false", onclick: () => choose(situation) },
      el("strong", {}, situation.title), el("span", {}, situation.about)))));
}

function markSituation(state: State): void {
  byId("gallery").querySelectorAll("button").forEach((button, number) => {
    const { text: own, against: other } = SITUATIONS[number]!;
    button.setAttribute("aria-pressed", String(own === state.text && other === state.against));
  });
}

/** Errors, with buttons that lead to their places. */
function problems(errors: Diagnostic[], failure?: string, where = ""): void {
  const sentences = errors.map((one) => problem("error", one, where));
  if (failure) sentences.push(el("li", { class: "error" }, failure));
  byId("problems").replaceChildren(...sentences);
  text.setAttribute("aria-invalid", String(errors.length > 0));
  if (sentences.length) warn([]);
}

/** What is valid but hardly meant; each once. */
function warn(warnings: Diagnostic[]): void {
  const each = new Map(warnings.map((one) => [one.text, one]));
  byId("warnings").replaceChildren(...[...each.values()].map((one) => problem("warning", one, "Warning: ")));
}

function problem(kind: string, { line, column, key, message, suggestion }: Diagnostic, where: string): HTMLElement {
  const words = `${where}${key ? `${key}: ` : ""}${message}${suggestion ? `; did you mean "${suggestion}"?` : ""}`;
  if (line === null) return el("li", { class: kind }, words);
  const jump = el("button", { type: "button", onclick: () => select(line, column ?? 1) }, `line ${line}, column ${column ?? 1}`);
  return el("li", { class: kind }, jump, ` ${words}`);
}

/** Puts the cursor there; columns count characters, not UTF-16 units. */
function select(line: number, column: number): void {
  const lines = text.value.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  const start = before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
  text.focus();
  text.setSelectionRange(start, before + (lines[line - 1]?.length ?? 0));
  text.scrollTop = (text.scrollHeight / lines.length) * Math.max(0, line - 4);
}

function keep(file: () => string, charts: Charts): void {
  const done = (words: string): void => void (byId("done").textContent = words);
  const stem = (): string => file().replace(/\.toml$/, "");
  const on = (id: string, act: () => void): void => byId(id).addEventListener("click", act);
  on("link", () => {
    const link = location.href.split("#")[0] + fragment;
    navigator.clipboard.writeText(link).then(() => done("The link is in the clipboard."), () => done("The address of this page is the link."));
  });
  on("save-scenario", () => save(file(), new Blob([text.value], { type: "application/toml" })));
  on("save-csv", () => save(`${stem()}.csv`, csv(variants.map(summarized))));
  on("save-svg", () => save(`${stem()}.svg`, svg(variants.map(summarized))));
  on("save-png", () => void png(charts.canvases()).then((made) => made && save(`${stem()}.png`, made)));
}

begin().catch((error: unknown) => {
  byId("sentence").textContent = `The page could not start: ${error instanceof Error ? error.message : String(error)}`;
});
