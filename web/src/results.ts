// Results of the variants side by side: a sentence, bars and a table.

import { draw, el } from "./dom";
import { plain, written } from "./statistics";
import { cells, names, valueOf, type Kind, type Summary } from "./summary";

/** Colours of variants; those of a second round are paler. */
export const COLOURS = 6;

export function fillTable(table: HTMLTableElement, summaries: Summary[], caption: string): void {
  const head = el("tr", {}, el("td"), ...summaries.map(({ label }) => el("th", { scope: "col" }, label)));
  const bodies: HTMLTableSectionElement[] = [];
  let metric = "";
  for (const { row, name, values } of cells(summaries)) {
    if (row.metric !== metric) {
      metric = row.metric;
      const title = row.unit ? `${row.heading} [${row.unit}]` : row.heading;
      bodies.push(el("tbody", {}, el("tr", {}, el("th", { scope: "rowgroup", colspan: summaries.length + 1 }, title))));
    }
    const numbers = values.map((one) => el("td", {}, one ? written(one, row.scale) : "–"));
    bodies.at(-1)!.append(el("tr", {}, el("th", { scope: "row" }, name), ...numbers));
  }
  table.replaceChildren(el("caption", {}, caption), el("thead", {}, head), ...bodies);
}

/** Of more variants a sentence names the two extremes. */
const MOST_NAMED = 2;

/** One sentence for each variant that says who gets what, one for transfers, and one for the delay. */
export function sentence(summaries: Summary[]): string {
  const groups = names(summaries, "throughput_bps", "group");
  const finite = names(summaries, "mean_completion_s", "group");
  // Who has little to send gets little: compared are those who would take more.
  const elastic = groups.filter((name) => summaries.some((summary) => summary.elastic.includes(name)));
  const compete = elastic.length ? elastic : groups;
  const said =
    summaries.length > MOST_NAMED
      ? [extremes(summaries, compete)]
      : summaries.map((summary) => whoGetsWhat(summary, compete, summaries.length > 1));
  const late = groups.filter((name) => !elastic.includes(name) && !finite.includes(name));
  return [...said, transfers(summaries, finite), delay(summaries, late.length ? late : compete)].filter((part) => part).join(" ");
}

/** Of many variants: which is the most equal between groups, and which the least. */
function extremes(summaries: Summary[], groups: string[]): string {
  const found = summaries.flatMap((summary) => {
    const got = groups.flatMap((name) => valueOf(summary, "throughput_bps", name)?.mean ?? []);
    const [most, least] = [Math.max(...got), Math.min(...got)];
    return got.length > 1 && least > 0 ? [{ label: summary.label, ratio: most / least }] : [];
  });
  const amount = (mean: number): string => `${plain(mean / 1e6)} Mb/s`;
  if (found.length < 2) return compared(summaries, "throughput_bps", groups[0]!, amount, `A user of ${groups[0]!} gets`);
  const sorted = found.sort((a, b) => a.ratio - b.ratio);
  const [first, last] = [sorted[0]!, sorted.at(-1)!];
  return (
    `A user of the group that gets most has ${plain(first.ratio)} times the throughput of one that gets least with ${first.label}` +
    `, and ${plain(last.ratio)} times with ${last.label}.`
  );
}

function whoGetsWhat(summary: Summary, groups: string[], named: boolean): string {
  const got = groups.map((name) => ({ name, one: valueOf(summary, "throughput_bps", name) })).filter(({ one }) => one);
  if (!got.length) return "";
  const amount = (mean: number): string => `${plain(mean / 1e6)} Mb/s`;
  const sorted = [...got].sort((a, b) => b.one!.mean - a.one!.mean);
  const [first, last] = [sorted[0]!, sorted.at(-1)!];
  const ratio = last.one!.mean ? plain(first.one!.mean / last.one!.mean) : "";
  let text = `a user of ${first.name} gets ${amount(first.one!.mean)}`;
  if (sorted.length > 1 && !ratio) text += `, and one of ${last.name} nothing`;
  else if (ratio === "1.00") text += sorted.length > 1 ? ", as all others do" : "";
  else if (sorted.length > 1) text += `, ${ratio} times as much as a user of ${last.name} (${amount(last.one!.mean)})`;
  return named ? `With ${summary.label}, ${text}.` : `${text[0]!.toUpperCase()}${text.slice(1)}.`;
}

function transfers(summaries: Summary[], groups: string[]): string {
  const name = groups[0];
  if (!name) return "";
  return compared(summaries, "mean_completion_s", name, (mean) => `${plain(mean)} s`, `A transfer of ${name} takes`);
}

/** The delay of a user of the group that gets least, where it is known, else that of a link. */
function delay(summaries: Summary[], groups: string[]): string {
  const milliseconds = (mean: number): string => `${plain(mean * 1e3)} ms`;
  const got = (name: string): number => valueOf(summaries[0]!, "throughput_bps", name)?.mean ?? Infinity;
  const [least] = groups
    .filter((name) => summaries.every((one) => valueOf(one, "p95_queueing_delay_s", name)))
    .sort((a, b) => got(a) - got(b));
  if (least) return compared(summaries, "p95_queueing_delay_s", least, milliseconds, `95 % of the packets of ${least} wait in queues for at most`);
  const link = names(summaries, "p95_sojourn_s", "link")[0];
  return link ? compared(summaries, "p95_sojourn_s", link, milliseconds, "95 % of the packets leave the link within") : "";
}

function compared(summaries: Summary[], metric: string, name: string, amount: (mean: number) => string, lead: string): string {
  const found = summaries.flatMap((summary) => {
    const one = valueOf(summary, metric, name);
    return one ? [{ label: summary.label, mean: one.mean }] : [];
  });
  if (found.length < summaries.length) return "";
  if (found.length === 1) return `${lead} ${amount(found[0]!.mean)}.`;
  const shown = found.length > MOST_NAMED ? ends(found) : found;
  return `${lead} ${shown.map(({ label, mean }) => `${amount(mean)} with ${label}`).join(", and ")}.`;
}

/** The least and the largest. */
function ends(found: { label: string; mean: number }[]): { label: string; mean: number }[] {
  const sorted = [...found].sort((a, b) => a.mean - b.mean);
  return [sorted[0]!, sorted.at(-1)!];
}

/** Throughput per user of every group and variant, as a drawing that stands by itself. */
export function bars(summaries: Summary[], width = 640): SVGElement {
  const groups = names(summaries, "throughput_bps", "group" satisfies Kind);
  const rows = groups.flatMap((name) => summaries.map((summary, number) => ({ name, number, one: valueOf(summary, "throughput_bps", name) })));
  const most = Math.max(1, ...rows.map(({ one }) => (one ? one.mean + (one.ci95 ?? 0) : 0)));
  const [left, right, step, bar] = [width < 480 ? 70 : 110, 125, 20, 14];
  const scale = (width - left - right) / most;
  const gap = 10;
  const key = legend(summaries, left, width);
  const height = rows.length * step + groups.length * gap + 8;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height + key.height}`, role: "img", "aria-label": "Throughput per user of each group, in Mb/s; the table below has the numbers" });
  rows.forEach(({ name, number, one }, place) => {
    const y = Math.floor(place / summaries.length) * gap + place * step + 4;
    if (number === 0) svg.append(draw("text", { x: left - 8, y: y + (summaries.length * step) / 2 + 1, class: "name" }, short(name, width < 480 ? 9 : 16)));
    if (!one) return;
    const end = left + one.mean * scale;
    svg.append(draw("rect", { x: left, y, width: Math.max(1, one.mean * scale), height: bar, class: colour(number), rx: 2 }));
    if (one.ci95) {
      const [from, to, middle] = [Math.max(left, end - one.ci95 * scale), end + one.ci95 * scale, y + bar / 2];
      svg.append(draw("path", { d: `M${from.toFixed(1)} ${middle}H${to.toFixed(1)}`, class: "ci" }));
    }
    svg.append(draw("text", { x: end + (one.ci95 ?? 0) * scale + 6, y: y + 11 }, `${written(one, 1e-6)} Mb/s`));
  });
  for (const part of key.parts(height)) svg.append(part);
  return svg;
}

/** Which colour is which variant: beside each other where they fit, else a line each. */
function legend(summaries: Summary[], left: number, width: number): { height: number; parts: (top: number) => SVGElement[] } {
  if (summaries.length < 2) return { height: 0, parts: () => [] };
  const letter = 6.6;
  const needed = summaries.reduce((sum, { label }) => sum + 30 + label.length * letter, 0);
  const beside = needed <= width - left;
  const room = Math.floor((width - left - 15) / letter);
  const parts = (top: number): SVGElement[] => {
    let [x, y] = [left, top];
    return summaries.flatMap(({ label }, number) => {
      const made = [
        draw("rect", { x, y: y + 3, width: 10, height: 10, class: colour(number), rx: 2 }),
        draw("text", { x: x + 15, y: y + 12 }, short(label, room)),
      ];
      if (beside) x += 30 + label.length * letter;
      else y += 18;
      return made;
    });
  };
  return { height: beside ? 20 : 18 * summaries.length + 2, parts };
}

function colour(number: number): string {
  return `v${number % COLOURS}${number < COLOURS ? "" : " again"}`;
}

function short(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The style of the drawing in a file of its own; in the page it has that of the page. */
export const STYLE =
  "text{font:12px system-ui,sans-serif;fill:#1c2330}.name{text-anchor:end}" +
  ".v0{fill:#1f6fb2}.v1{fill:#c2570c}.v2{fill:#2e7d4f}.v3{fill:#8447b5}.v4{fill:#a8324a}.v5{fill:#5c6470}" +
  ".again{opacity:.55}.ci{stroke:#1c2330;stroke-width:1.5}";
