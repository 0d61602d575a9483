// Results of the variants side by side: a sentence, bars and a table.

import { draw, el } from "./dom";
import type { Parsed } from "./engine";
import type { Outcome } from "./run";
import { estimate, plain, written, type Estimate } from "./statistics";

export type Variant = { label: string; set: [string, string][]; parsed: Parsed; outcomes: Map<string, Outcome> };

type Row = { metric: string; heading: string; unit: string; scale: number; kind: "group" | "link"; optional?: boolean };

const ROWS: Row[] = [
  { metric: "throughput_bps", heading: "Throughput per user", unit: "Mb/s", scale: 1e-6, kind: "group" },
  { metric: "share", heading: "Share of all", unit: "%", scale: 100, kind: "group" },
  { metric: "loss_ratio", heading: "Lost packets", unit: "%", scale: 100, kind: "group" },
  { metric: "p50_queueing_delay_s", heading: "Queueing delay of a packet, median", unit: "ms", scale: 1e3, kind: "group" },
  { metric: "p95_queueing_delay_s", heading: "Queueing delay of a packet, 95th percentile", unit: "ms", scale: 1e3, kind: "group" },
  { metric: "p99_queueing_delay_s", heading: "Queueing delay of a packet, 99th percentile", unit: "ms", scale: 1e3, kind: "group" },
  { metric: "mean_completion_s", heading: "Flow completion time (FCT), mean", unit: "s", scale: 1, kind: "group", optional: true },
  { metric: "p95_completion_s", heading: "FCT, 95th percentile", unit: "s", scale: 1, kind: "group", optional: true },
  { metric: "mean_sojourn_s", heading: "Time at the link, mean", unit: "ms", scale: 1e3, kind: "link" },
  { metric: "p95_sojourn_s", heading: "Time at the link, 95th percentile", unit: "ms", scale: 1e3, kind: "link" },
  { metric: "utilization", heading: "Utilization", unit: "%", scale: 100, kind: "link" },
  { metric: "drop_ratio", heading: "Dropped packets", unit: "%", scale: 100, kind: "link" },
];

export function value(variant: Variant, metric: string, name: string): Estimate | null {
  const found: number[] = [];
  for (const { measures } of variant.outcomes.values()) {
    const one = measures.find((measure) => measure.metric === metric && measure.name === name)?.value;
    if (typeof one === "number") found.push(one);
  }
  return estimate(found);
}

/** Names that have a metric, in the order of the scenario. */
function names(variants: Variant[], row: { metric: string; kind: string }): string[] {
  const all = variants.flatMap(({ parsed }) => (row.kind === "group" ? parsed.groups : parsed.links).map(({ name }) => name));
  return [...new Set(all)].filter((name) => variants.some((variant) => value(variant, row.metric, name)));
}

/** All numbers: metric, name, unit, and a value for each variant. */
export function* cells(variants: Variant[]): Generator<{ row: Row; name: string; values: (Estimate | null)[] }> {
  const rows = [...ROWS, ...ofApplications(variants)];
  for (const row of rows) {
    for (const name of names(variants, row)) {
      yield { row, name, values: variants.map((variant) => value(variant, row.metric, name)) };
    }
  }
}

/** What applications say of themselves. */
function ofApplications(variants: Variant[]): Row[] {
  const known = new Set(ROWS.map((row) => row.metric));
  const metrics = variants.flatMap(({ outcomes }) => [...outcomes.values()].flatMap(({ measures }) => measures.map((one) => one.metric)));
  const more = [...new Set(metrics)].filter((metric) => !known.has(metric));
  return more.map((metric) => ({ metric, heading: metric.replaceAll("_", " ").replace(/ s$/, ""), unit: metric.endsWith("_s") ? "s" : "", scale: 1, kind: "group" }));
}

export function fillTable(table: HTMLTableElement, variants: Variant[]): void {
  const head = el("tr", {}, el("td"), ...variants.map(({ label }) => el("th", { scope: "col" }, label)));
  const bodies: HTMLTableSectionElement[] = [];
  let metric = "";
  for (const { row, name, values } of cells(variants)) {
    if (row.metric !== metric) {
      metric = row.metric;
      const title = row.unit ? `${row.heading} [${row.unit}]` : row.heading;
      bodies.push(el("tbody", {}, el("tr", {}, el("th", { scope: "rowgroup", colspan: variants.length + 1 }, title))));
    }
    const numbers = values.map((one) => el("td", {}, one ? written(one, row.scale) : "–"));
    bodies.at(-1)!.append(el("tr", {}, el("th", { scope: "row" }, name), ...numbers));
  }
  table.replaceChildren(el("caption", {}, "Mean ± 95 % confidence interval of all runs so far"), el("thead", {}, head), ...bodies);
}

/** One sentence for each variant that says who gets what, one for transfers, and one for the delay. */
export function sentence(variants: Variant[]): string {
  const groups = names(variants, { metric: "throughput_bps", kind: "group" });
  const finite = names(variants, { metric: "mean_completion_s", kind: "group" });
  // Who has little to send gets little: compared are those who would take more.
  const greedy = groups.filter((name) => !finite.includes(name));
  const said = variants.map((variant) => whoGetsWhat(variant, greedy.length ? greedy : groups, variants.length > 1));
  return [...said, transfers(variants, finite), delay(variants)].filter((part) => part).join(" ");
}

function whoGetsWhat(variant: Variant, groups: string[], named: boolean): string {
  const got = groups.map((name) => ({ name, one: value(variant, "throughput_bps", name) })).filter(({ one }) => one);
  if (!got.length) return "";
  const amount = (mean: number): string => `${plain(mean / 1e6)} Mb/s`;
  const sorted = [...got].sort((a, b) => b.one!.mean - a.one!.mean);
  const [first, last] = [sorted[0]!, sorted.at(-1)!];
  const ratio = last.one!.mean ? plain(first.one!.mean / last.one!.mean) : "";
  let text = `a user of ${first.name} gets ${amount(first.one!.mean)}`;
  if (sorted.length > 1 && !ratio) text += `, and one of ${last.name} nothing`;
  else if (ratio === "1.00") text += ", as all others do";
  else if (sorted.length > 1) text += `, ${ratio} times as much as a user of ${last.name} (${amount(last.one!.mean)})`;
  return named ? `With ${variant.label}, ${text}.` : `${text[0]!.toUpperCase()}${text.slice(1)}.`;
}

function transfers(variants: Variant[], groups: string[]): string {
  const name = groups[0];
  if (!name) return "";
  return compared(variants, "mean_completion_s", name, (mean) => `${plain(mean)} s`, `A transfer of ${name} takes`);
}

function delay(variants: Variant[]): string {
  const link = names(variants, { metric: "p95_sojourn_s", kind: "link" })[0];
  if (!link) return "";
  return compared(variants, "p95_sojourn_s", link, (mean) => `${plain(mean * 1e3)} ms`, "95 % of the packets leave the link within");
}

function compared(variants: Variant[], metric: string, name: string, amount: (mean: number) => string, lead: string): string {
  const found = variants.flatMap((variant) => {
    const one = value(variant, metric, name);
    return one ? [`${amount(one.mean)}${variants.length > 1 ? ` with ${variant.label}` : ""}`] : [];
  });
  return found.length === variants.length ? `${lead} ${found.join(", and ")}.` : "";
}

/** Throughput per user of every group and variant, as a drawing that stands by itself. */
export function bars(variants: Variant[], width = 640): SVGElement {
  const groups = names(variants, { metric: "throughput_bps", kind: "group" });
  const rows = groups.flatMap((name) => variants.map((variant, number) => ({ name, number, one: value(variant, "throughput_bps", name) })));
  const most = Math.max(1, ...rows.map(({ one }) => (one ? one.mean + (one.ci95 ?? 0) : 0)));
  const [left, right, step, bar] = [width < 480 ? 70 : 110, 125, 20, 14];
  const scale = (width - left - right) / most;
  const gap = 10;
  const height = rows.length * step + groups.length * gap + (variants.length > 1 ? 28 : 8);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Throughput per user of each group, in Mb/s; the table below has the numbers" });
  rows.forEach(({ name, number, one }, place) => {
    const y = Math.floor(place / variants.length) * gap + place * step + 4;
    if (number === 0) svg.append(draw("text", { x: left - 8, y: y + (variants.length * step) / 2 + 1, class: "name" }, short(name, width < 480 ? 9 : 16)));
    if (!one) return;
    const end = left + one.mean * scale;
    svg.append(draw("rect", { x: left, y, width: Math.max(1, one.mean * scale), height: bar, class: `v${number}`, rx: 2 }));
    if (one.ci95) {
      const [from, to, middle] = [Math.max(left, end - one.ci95 * scale), end + one.ci95 * scale, y + bar / 2];
      svg.append(draw("path", { d: `M${from.toFixed(1)} ${middle}H${to.toFixed(1)}`, class: "ci" }));
    }
    svg.append(draw("text", { x: end + (one.ci95 ?? 0) * scale + 6, y: y + 11 }, `${written(one, 1e-6)} Mb/s`));
  });
  if (variants.length > 1) {
    let x = left;
    const letters = Math.floor((width - left) / 6.6) - 5 * variants.length;
    const fits = variants.reduce((sum, { label }) => sum + label.length, 0) <= letters;
    const room = fits ? letters : Math.floor(letters / variants.length);
    variants.forEach(({ label }, number) => {
      svg.append(draw("rect", { x, y: height - 16, width: 10, height: 10, class: `v${number}`, rx: 2 }));
      svg.append(draw("text", { x: x + 15, y: height - 7 }, short(label, room)));
      x += 30 + short(label, room).length * 6.6;
    });
  }
  return svg;
}

function short(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The style of the drawing in a file of its own; in the page it has that of the page. */
export const STYLE =
  "text{font:12px system-ui,sans-serif;fill:#1c2330}.name{text-anchor:end}" +
  ".v0{fill:#1f6fb2}.v1{fill:#c2570c}.ci{stroke:#1c2330;stroke-width:1.5}";
