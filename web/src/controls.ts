// What matters as sliders and choices. They show the resolved scenario and change its text.

import { el } from "./dom";
import type { Parsed, Resolved, Value } from "./engine";
import { fromSlider, toSlider } from "./quantity";

type Schema = { properties?: { [key: string]: Schema }; oneOf?: Schema[]; const?: string; description?: string; enum?: string[]; $ref?: string };
export type Definitions = { [name: string]: Schema };

/** Sets keys of the scenario, in this order. */
export type Change = (changes: [string, string][]) => void;

type Field = { key: string; label: string; about: string; value: Value };

const DEFINITIONS: { [key: string]: string } = {
  aqm: "Aqm", differentiation: "Differentiation", scheduler: "Scheduler", congestion_control: "CongestionControl",
};
const LABELS: { [key: string]: string } = {
  aqm: "AQM", differentiation: "Differentiation", scheduler: "Scheduler", congestion_control: "Sender",
};
/** What a mechanism cannot do without, where its file gives no default. */
const NEEDS: { [kind: string]: string } = {
  red: 'min_threshold = "10 packets", max_threshold = "30 packets", gentle = true',
  "piecewise-linear": 'function = "pf-11-17-24-0.01"',
  pc2: 'target = "10 packets"',
  pc3: 'target = "10 packets"',
  "sbrm-queue": 'gamma = 0.02, target = "10 packets"',
  rfc6057: 'provisioned_rate = "10 Mb/s"',
};

export class Controls {
  private shape = "";

  constructor(
    private readonly form: HTMLFormElement,
    private readonly definitions: Definitions,
    private readonly change: Change,
  ) {
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  /** Shows a scenario. What is focused stays, as long as there are the same controls. */
  show(parsed: Parsed): void {
    const sections = this.sections(parsed);
    const shape = JSON.stringify(sections.map(({ title, fields }) => [title, fields.map((field) => [field.key, isTable(field.value) ? field.value.kind : typeof field.value])]));
    if (shape === this.shape) {
      sections.forEach(({ fields }) => fields.forEach((field) => this.update(field)));
      return;
    }
    const focused = document.activeElement?.id;
    this.shape = shape;
    this.form.replaceChildren(...sections.map((section, number) =>
      el("fieldset", {}, el("legend", {}, section.title), ...section.fields.flatMap((field) => this.controls(field, parsed, number))),
    ));
    if (focused && this.form.contains(document.getElementById(focused))) document.getElementById(focused)?.focus();
  }

  private sections(parsed: Parsed): { title: string; fields: Field[] }[] {
    const resolved = parsed.resolved;
    const places = placesOfLinks(resolved);
    const sections = places.map(([key, link]) => ({
      title: key === "bottleneck" ? "Link" : key,
      fields: ["rate", "delay", "buffer", "scheduler", "aqm", "differentiation"]
        .filter((name) => link[name] !== undefined)
        .map((name) => this.field(`${key}.${name}`, name, link[name]!)),
    }));
    sections.push({ title: "All senders", fields: [this.field("tcp.congestion_control", "congestion_control", (resolved.tcp as Resolved).congestion_control!)] });
    for (const group of parsed.groups) {
      const own = (resolved.users as Resolved)[group.name] as Resolved;
      const key = `users.${bare(group.name)}`;
      const fields = [this.field(`${key}.count`, "users", own.count ?? 1)];
      if (typeof own.flows === "number") fields.push(this.field(`${key}.flows`, "flows each", own.flows));
      const traffic = own.traffic as Resolved | undefined;
      if (traffic && typeof traffic.rate === "string") fields.push(this.field(`${key}.traffic.rate`, "rate", traffic.rate));
      const sender = (own.tcp as Resolved | undefined)?.congestion_control;
      if (sender) fields.push(this.field(`${key}.tcp.congestion_control`, "congestion_control", sender));
      sections.push({ title: `Users: ${group.name}`, fields });
    }
    return sections;
  }

  private field(key: string, name: string, value: Value): Field {
    const label = LABELS[name] ?? name[0]!.toUpperCase() + name.slice(1);
    return { key, label, about: this.definitions[DEFINITIONS[name] ?? ""]?.description ?? "", value };
  }

  private controls(field: Field, parsed: Parsed, section: number): Node[] {
    if (isTable(field.value)) return this.choice(field, parsed, section);
    return [this.line(field)];
  }

  /** A slider and a box beside it, or a box alone. */
  private line(field: Field): Node {
    const { key, label, about, value } = field;
    const id = `set-${key}`;
    const box = el("input", { id, title: about, spellcheck: "false", autocomplete: "off", onchange: () => this.change([[key, box.value]]) });
    const slider = el("input", {
      type: "range", id: `${id}-slider`, "aria-label": label,
      oninput: () => {
        box.value = typeof value === "number" ? String(countAt(Number(slider.value))) : fromSlider(Number(slider.value), box.value);
        slider.setAttribute("aria-valuetext", box.value);
        this.change([[key, box.value]]);
      },
    });
    const slides = typeof value === "number" ? Number.isInteger(value) && /\.(count|flows)$/.test(key) : typeof value === "string" && toSlider(value) !== null;
    const line = el("div", { class: slides ? "line slides" : "line" }, el("label", { for: id, title: about }, label), ...(slides ? [slider] : []), box);
    if (slides) Object.assign(slider, { min: "0", max: "1000", step: "1" });
    this.fill(field, box, slides ? slider : null);
    return line;
  }

  private update(field: Field): void {
    if (isTable(field.value)) {
      for (const [name, value] of parameters(field.value)) this.update({ ...field, key: `${field.key}.${name}`, value });
      return;
    }
    const box = document.getElementById(`set-${field.key}`) as HTMLInputElement | null;
    if (box && box.type === "checkbox") box.checked = field.value === true;
    else if (box) this.fill(field, box, document.getElementById(`set-${field.key}-slider`) as HTMLInputElement | null);
  }

  private fill({ value }: Field, box: HTMLInputElement, slider: HTMLInputElement | null): void {
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    if (document.activeElement !== box) box.value = text;
    if (!slider || document.activeElement === slider) return;
    slider.value = String(typeof value === "number" ? placeOf(value) : toSlider(text));
    slider.setAttribute("aria-valuetext", text);
  }

  /** A mechanism: its kind, and below it its parameters. */
  private choice({ key, label, about, value }: Field, parsed: Parsed, section: number): Node[] {
    const chosen = value as Resolved;
    const definition = this.definitions[DEFINITIONS[key.split(".").at(-1)!]!]!;
    const kinds = (definition.oneOf ?? []).filter((one) => one.properties?.kind?.const);
    const id = `set-${key}`;
    const select = el("select", { id, title: about, onchange: () => this.choose(key, select.value, parsed) });
    for (const kind of kinds) {
      const name = kind.properties!.kind!.const!;
      select.append(el("option", { value: name, title: kind.description ?? "" }, name));
    }
    select.value = String(chosen.kind);
    const kind = kinds.find((one) => one.properties!.kind!.const === chosen.kind);
    const lines = parameters(chosen).map(([name, one]) => this.parameter(`${key}.${name}`, name, one, kind?.properties?.[name]?.description ?? ""));
    const head = el("div", { class: "line" }, el("label", { for: id, title: about }, label), select);
    if (!lines.length) return [head];
    return [head, el("details", { id: `more-${section}-${key}` }, el("summary", {}, `Parameters of ${chosen.kind}`), ...lines)];
  }

  private parameter(key: string, label: string, value: Value, about: string): Node {
    if (typeof value !== "boolean") return this.line({ key, label, about, value });
    const box = el("input", { type: "checkbox", id: `set-${key}`, title: about, onchange: () => this.change([[key, String(box.checked)]]) });
    box.checked = value;
    return el("div", { class: "line" }, el("label", { for: box.id, title: about }, label), box);
  }

  private choose(key: string, kind: string, parsed: Parsed): void {
    const needs = NEEDS[kind];
    const changes: [string, string][] = [[key, `{ kind = "${kind}"${needs ? `, ${needs}` : ""} }`]];
    if (kind === "abc") {
      const users = parsed.resolved.users as Resolved;
      const without = parsed.groups.filter(({ name }) => !(users[name] as Resolved).meter);
      for (const { name } of without) changes.push([`users.${bare(name)}.meter`, '{ reference_rate = "0.1 Mb/s" }']);
    }
    this.change(changes);
  }
}

/** The links that matter: the bottleneck, or those that may be one. */
export function placesOfLinks(resolved: Resolved): [string, Resolved][] {
  for (const name of ["bottleneck", "parking_lot", "mobile"]) {
    if (isTable(resolved[name])) return [[name, resolved[name] as Resolved]];
  }
  const links = Object.entries((resolved.links ?? {}) as Resolved) as [string, Resolved][];
  return links.filter(([, link]) => link.bottleneck !== false).slice(0, 4).map(([name, link]) => [`links.${bare(name)}`, link]);
}

/** A key as it stands in a dotted path. */
function bare(name: string): string {
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
}

function isTable(value: Value | undefined): value is Resolved {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What stands on a line: no tables, no lists of such. */
function parameters(chosen: Resolved): [string, Value][] {
  const plain = Object.entries(chosen).filter(([name, value]) => name !== "kind" && typeof value !== "object");
  return plain.filter(([, value]) => value !== null);
}

const MOST = 200;
const countAt = (place: number): number => Math.max(1, Math.round(MOST ** (place / 1000)));
const placeOf = (count: number): number => Math.min(1000, Math.round((1000 * Math.log(Math.max(1, count))) / Math.log(MOST)));
