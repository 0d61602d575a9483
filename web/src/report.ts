// A report: a saved result as one page. The command fills in the data; nothing is simulated here.

import { Charts, type Shown } from "./charts";
import { byId, el } from "./dom";
import { csv, save, svg } from "./downloads";
import { gridTable, type Grid } from "./grid";
import { bars, fillTable, sentence } from "./results";
import type { Series } from "./run";
import type { Summary } from "./summary";

type ReportVariant = {
  label: string;
  groups: string[];
  links: string[];
  elastic: string[];
  /** Metric, name, mean, half-width of its 95 % confidence interval, runs. */
  values: [string, string, number, number | null, number][];
  series: Series | null;
  /** The scenario with every default filled in, and the name of its file. */
  scenario: string;
  file: string;
  /** Commands that repeat it, with the digests that they print. */
  command: string;
  /** Address of the page of `tidegate explore` with this scenario. */
  change: string | null;
};

type Report = {
  name: string;
  description: string;
  about: string;
  interval: string;
  warnings: string[];
  variants: ReportVariant[];
  tables: Grid[];
  settings: Grid | null;
};

function summary({ label, groups, links, elastic, values }: ReportVariant): Summary {
  const found: Summary["values"] = new Map();
  for (const [metric, name, mean, ci95, runs] of values) {
    const byName = found.get(metric) ?? new Map();
    byName.set(name, { mean, ci95, runs });
    found.set(metric, byName);
  }
  return { label, groups, links, elastic, values: found };
}

function begin(report: Report): void {
  const summaries = report.variants.map(summary);
  document.title = `${report.name}: who gets what`;
  byId("name").textContent = report.name;
  byId("description").textContent = report.description;
  byId("about").textContent = report.about;
  byId("sentence").textContent = sentence(summaries);
  byId("warnings").replaceChildren(...report.warnings.map((text) => el("li", { class: "warning" }, `Warning: ${text}`)));
  const drawing = (): void => byId("bars").replaceChildren(bars(summaries, Math.min(640, Math.max(320, byId("bars").clientWidth))));
  drawing();
  addEventListener("resize", drawing);
  fillTable(byId<HTMLTableElement>("table"), summaries, report.interval);
  byId("tables").replaceChildren(...report.tables.map(gridTable));
  overTime(report.variants);
  if (report.settings) {
    byId("settings").replaceChildren(el("details", {}, el("summary", {}, "Settings in which the variants differ"), gridTable(report.settings)));
  }
  byId("repeats").replaceChildren(...report.variants.map((one) => repeat(one, report.variants.length > 1)));
  const stem = report.name.replace(/[^\w.-]+/g, "-");
  byId("save-csv").addEventListener("click", () => save(`${stem}.csv`, csv(summaries)));
  byId("save-svg").addEventListener("click", () => save(`${stem}.svg`, svg(summaries)));
}

function overTime(variants: ReportVariant[]): void {
  const shown: Shown[] = variants.flatMap(({ label, series }) => (series ? [{ label, series }] : []));
  byId("series").hidden = !shown.length;
  if (!shown.length) return;
  const [from, to] = ["zoom-from", "zoom-to"].map((id) => byId<HTMLInputElement>(id)) as [HTMLInputElement, HTMLInputElement];
  const charts = new Charts(byId("charts"), (part) => {
    [from.value, to.value] = [part?.[0].toFixed(1) ?? "", part?.[1].toFixed(1) ?? ""];
  });
  charts.show(shown);
  byId("unzoom").addEventListener("click", () => charts.zoom(null));
  for (const field of [from, to]) {
    field.addEventListener("change", () => {
      const part = [from, to].map((one) => Number.parseFloat(one.value)) as [number, number];
      if (part[0] < part[1]) charts.zoom(part);
    });
  }
}

/** The scenario of a variant, how to repeat it, and where to change it. */
function repeat({ label, scenario, file, command, change }: ReportVariant, several: boolean): HTMLElement {
  const keep = el("button", { type: "button", onclick: () => save(file, new Blob([scenario], { type: "application/toml" })) }, `Save ${file}`);
  const links = change ? [" ", el("a", { href: change }, several ? `Change ${label} in the browser` : "Change it in the browser")] : [];
  const text = el("details", {}, el("summary", {}, `The scenario${several ? ` of ${label}` : ""}, with every default filled in`),
    el("pre", { tabindex: "0", "aria-label": `Scenario ${file}` }, scenario));
  const heading = several ? [el("h3", {}, label)] : [];
  return el("article", {}, ...heading, el("p", { class: "downloads" }, keep, ...links), el("pre", { tabindex: "0", "aria-label": `Commands that repeat ${label}` }, command), text);
}

/** Paper has all that a page can unfold. */
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));

begin(JSON.parse(byId("given").textContent!) as Report);
