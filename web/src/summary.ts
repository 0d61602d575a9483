// Results of a variant in the numbers that pages show: the page of `tidegate explore` and a report alike.

import { type Estimate } from "./statistics";

export type Kind = "group" | "link";

/** What is known of one variant: means over its runs. */
export type Summary = {
  label: string;
  /** Names in the order of the scenario. */
  groups: string[];
  links: string[];
  /** Groups that take what they can get; others have no use for more. */
  elastic: string[];
  /** Of each metric, by name of a group or link. */
  values: Map<string, Map<string, Estimate>>;
};

export type Row = { metric: string; heading: string; unit: string; scale: number; kind: Kind };

const percent = (metric: string, heading: string, kind: Kind): Row => ({ metric, heading, unit: "%", scale: 100, kind });
const ms = (metric: string, heading: string, kind: Kind): Row => ({ metric, heading, unit: "ms", scale: 1e3, kind });
const plain = (metric: string, heading: string, unit: string): Row => ({ metric, heading, unit, scale: 1, kind: "group" });

const ROWS: Row[] = [
  { metric: "throughput_bps", heading: "Throughput per user", unit: "Mb/s", scale: 1e-6, kind: "group" },
  percent("share", "Share of all", "group"),
  percent("loss_ratio", "Lost packets", "group"),
  percent("mark_ratio", "Marked packets", "group"),
  ms("p50_queueing_delay_s", "Queueing delay of a packet, median", "group"),
  ms("p95_queueing_delay_s", "Queueing delay of a packet, 95th percentile", "group"),
  ms("p99_queueing_delay_s", "Queueing delay of a packet, 99th percentile", "group"),
  ms("max_queueing_delay_s", "Queueing delay of a packet, largest", "group"),
  ms("mean_srtt_s", "Round trip that TCP measures, mean", "group"),
  plain("mos", "Quality of calls (MOS)", "1 to 4.5"),
  plain("mean_completion_s", "Flow completion time (FCT), mean", "s"),
  plain("p50_completion_s", "FCT, median", "s"),
  plain("p95_completion_s", "FCT, 95th percentile", "s"),
  plain("p99_completion_s", "FCT, 99th percentile", "s"),
  plain("mean_slowdown", "FCT over that on an empty path, mean", ""),
  plain("transfers_finished", "Transfers that finished", ""),
  plain("transfers_unfinished", "Transfers that did not finish", ""),
  ms("mean_sojourn_s", "Time at the link, mean", "link"),
  ms("p95_sojourn_s", "Time at the link, 95th percentile", "link"),
  percent("utilization", "Utilization", "link"),
  percent("drop_ratio", "Dropped packets", "link"),
];

/** Those that a page leaves out where they are 0 in all variants. */
const OPTIONAL = new Set(["mark_ratio", "transfers_unfinished"]);

export function valueOf(summary: Summary, metric: string, name: string): Estimate | null {
  return summary.values.get(metric)?.get(name) ?? null;
}

/** Names that have a metric, in the order of the scenario. */
export function names(summaries: Summary[], metric: string, kind: Kind): string[] {
  const all = summaries.flatMap((summary) => (kind === "group" ? summary.groups : summary.links));
  return [...new Set(all)].filter((name) => summaries.some((summary) => valueOf(summary, metric, name)));
}

/** All numbers: metric, name, unit, and a value for each variant. */
export function* cells(summaries: Summary[]): Generator<{ row: Row; name: string; values: (Estimate | null)[] }> {
  for (const row of [...ROWS, ...ofApplications(summaries)]) {
    const found = names(summaries, row.metric, row.kind).map((name) => ({
      row, name, values: summaries.map((summary) => valueOf(summary, row.metric, name)),
    }));
    const nothing = found.every(({ values }) => values.every((one) => !one?.mean));
    if (!(OPTIONAL.has(row.metric) && nothing)) yield* found;
  }
}

/** What applications report. */
function ofApplications(summaries: Summary[]): Row[] {
  const known = new Set(ROWS.map((row) => row.metric));
  const more = [...new Set(summaries.flatMap(({ values }) => [...values.keys()]))].filter((metric) => !known.has(metric));
  return more.map((metric) => plain(metric, metric.replaceAll("_", " ").replace(/ s$/, ""), metric.endsWith("_s") ? "s" : ""));
}
