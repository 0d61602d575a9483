// What goes out of the page: files, and the commands that repeat a run.

import { el } from "./dom";
import { STYLE, bars } from "./results";
import { cells, type Summary } from "./summary";
import type { Variant } from "./variants";

export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export type Number = { variant: string; metric: string; name: string; mean: number; ci95: number | null; runs: number };

/** All numbers, a row each. */
export function numbers(summaries: Summary[]): Number[] {
  return [...cells(summaries)].flatMap(({ row, name, values }) =>
    values.flatMap((one, number) => {
      const variant = summaries[number]!.label;
      return one ? [{ variant, metric: row.metric, name, mean: one.mean, ci95: one.ci95 ?? null, runs: one.runs }] : [];
    }));
}

export function csv(summaries: Summary[]): Blob {
  const lines = ["variant,metric,name,mean,ci95,runs"];
  for (const { variant, metric, name, mean, ci95, runs } of numbers(summaries)) {
    lines.push([field(variant), field(metric), field(name), mean, ci95 ?? "", runs].join(","));
  }
  return new Blob([`${lines.join("\n")}\n`], { type: "text/csv" });
}

function field(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function svg(summaries: Summary[]): Blob {
  const drawing = bars(summaries);
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  style.textContent = STYLE;
  drawing.prepend(style);
  return new Blob([new XMLSerializer().serializeToString(drawing)], { type: "image/svg+xml" });
}

/** Figures below each other. */
export function png(canvases: HTMLCanvasElement[]): Promise<Blob | null> {
  const all = document.createElement("canvas");
  all.width = Math.max(...canvases.map((one) => one.width));
  all.height = canvases.reduce((sum, one) => sum + one.height, 0);
  const context = all.getContext("2d")!;
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, all.width, all.height);
  let y = 0;
  for (const one of canvases) {
    context.drawImage(one, 0, y);
    y += one.height;
  }
  return new Promise((resolve) => all.toBlob(resolve, "image/png"));
}

/** A command for each variant, with the digest that it prints. */
export function commands(file: string, variants: Variant[]): string {
  return variants
    .map(({ set, outcomes, parsed }) => {
      const settings = set.map(([key, value]) => ` --set ${quoted(`${key}=${value}`)}`).join("");
      const digest = outcomes.get(parsed.seed)?.digest;
      return `tidegate simulate ${quoted(file)}${settings}${digest ? `\n# first digest ${digest}` : ""}`;
    })
    .join("\n");
}

function quoted(text: string): string {
  return /^[\w./=:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
