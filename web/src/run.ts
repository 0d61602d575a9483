// What a run says, in the numbers that the page shows.

import type { Column, Tables } from "./engine";

export type Job = { number: number; text: string; set: [string, string][]; seed: string; series: boolean };

/** One number of a run: of a group or a link, or nothing where the run has none. */
export type Measure = { metric: string; name: string; value: number | null };

export type Series = {
  time_s: number[];
  /** Bit/s of all users of each group. */
  throughput: { name: string; values: (number | null)[] }[];
  /** Packets at each bottleneck. */
  backlog: { name: string; values: (number | null)[] }[];
};

export type Outcome = { digest: string; measures: Measure[]; series: Series | null };

export function outcome(digest: string, tables: Tables, users: Map<string, number>, wantsSeries: boolean): Outcome {
  const measures = [...ofGroups(tables, users), ...ofDelays(tables), ...ofTransfers(tables), ...ofLinks(tables), ...ofApplications(tables)];
  return { digest, measures, series: wantsSeries ? seriesOf(tables) : null };
}

function numbers(column: Column | undefined): number[] {
  return (column ?? []).map((value) => (typeof value === "number" ? value : NaN));
}

function sums(keys: string[], values: number[]): Map<string, number> {
  const found = new Map<string, number>();
  keys.forEach((key, row) => found.set(key, (found.get(key) ?? 0) + (values[row] || 0)));
  return found;
}

function ofGroups(tables: Tables, users: Map<string, number>): Measure[] {
  const flows = tables.flows!;
  const groups = flows.group as string[];
  const throughput = sums(groups, numbers(flows.throughput_bps));
  const losses = sums(groups, numbers(flows.losses));
  const delivered = sums(groups, numbers(flows.packets_delivered));
  const all = [...throughput.values()].reduce((a, b) => a + b, 0);
  return [...users].flatMap(([name, count]) => {
    const bps = throughput.get(name) ?? 0;
    const lost = losses.get(name) ?? 0;
    const ended = lost + (delivered.get(name) ?? 0);
    return [
      { metric: "throughput_bps", name, value: bps / count },
      { metric: "share", name, value: all > 0 ? bps / all : null },
      { metric: "loss_ratio", name, value: ended > 0 ? lost / ended : null },
    ];
  });
}

const OF_DELAYS = ["p50_queueing_delay_s", "p95_queueing_delay_s", "p99_queueing_delay_s"];

/** Delays of the packets of each group; none where none arrived. */
function ofDelays(tables: Tables): Measure[] {
  const delays = tables.delays;
  return (delays?.level ?? []).flatMap((level, row) => {
    const name = delays!.group![row] as string;
    return level === "group" ? OF_DELAYS.map((metric) => ({ metric, name, value: delays![metric]![row] as number | null })) : [];
  });
}

function ofTransfers(tables: Tables): Measure[] {
  const transfers = tables.transfers;
  const times = new Map<string, number[]>();
  numbers(transfers?.completion_s).forEach((time, row) => {
    const group = transfers!.group![row] as string;
    if (!Number.isNaN(time)) times.set(group, [...(times.get(group) ?? []), time]);
  });
  return [...times].flatMap(([name, found]) => {
    const sorted = found.sort((a, b) => a - b);
    return [
      { metric: "mean_completion_s", name, value: sorted.reduce((a, b) => a + b, 0) / sorted.length },
      ...([["p50", 0.5], ["p95", 0.95], ["p99", 0.99]] as const).map(([part, share]) => ({
        metric: `${part}_completion_s`, name, value: sorted[Math.ceil(sorted.length * share) - 1]!,
      })),
    ];
  });
}

const OF_LINKS = ["mean_sojourn_s", "p95_sojourn_s", "utilization"];

function ofLinks(tables: Tables): Measure[] {
  const links = tables.links!;
  const names = links.name as string[];
  const drops = ["drops_full", "drops_aqm", "drops_wire", "drops_policer"].map((name) => numbers(links[name]));
  const departures = numbers(links.departures);
  return names.flatMap((name, row) => {
    if (!links.monitored![row]) return [];
    const plain = OF_LINKS.map((metric) => ({ metric, name, value: links[metric]![row] as number | null }));
    const dropped = drops.reduce((sum, column) => sum + (column[row] || 0), 0);
    const left = dropped + (departures[row] || 0);
    return [...plain, { metric: "drop_ratio", name, value: left > 0 ? dropped / left : null }];
  });
}

function ofApplications(tables: Tables): Measure[] {
  const reported = tables.applications;
  const found = new Map<string, number[]>();
  numbers(reported?.amount).forEach((amount, row) => {
    const key = `${reported!.what![row]}\n${reported!.group![row]}`;
    if (!Number.isNaN(amount)) found.set(key, [...(found.get(key) ?? []), amount]);
  });
  return [...found].map(([key, amounts]) => {
    const [metric, name] = key.split("\n") as [string, string];
    return { metric, name, value: amounts.reduce((a, b) => a + b, 0) / amounts.length };
  });
}

function seriesOf(tables: Tables): Series | null {
  const groups = byName(tables.group_series, "group", "throughput_bps");
  const links = byName(tables.link_series, "link", "backlog_packets");
  const time_s = [...new Set(numbers(tables.group_series?.time_s))];
  return time_s.length ? { time_s, throughput: groups, backlog: links } : null;
}

function byName(table: Tables[string] | undefined, key: string, value: string): Series["backlog"] {
  const found = new Map<string, (number | null)[]>();
  (table?.[key] ?? []).forEach((name, row) => {
    const values = found.get(name as string) ?? [];
    values.push(table![value]![row] as number | null);
    found.set(name as string, values);
  });
  return [...found].map(([name, values]) => ({ name, values }));
}
