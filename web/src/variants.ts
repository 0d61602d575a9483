// Variants of the page of `tidegate explore`: what was asked, and the runs that have ended.

import type { Parsed, Resolved } from "./engine";
import type { Outcome } from "./run";
import { estimate } from "./statistics";
import type { Summary } from "./summary";

export type Variant = { label: string; set: [string, string][]; parsed: Parsed; outcomes: Map<string, Outcome> };

/** Means over the runs so far. */
export function summarized({ label, parsed, outcomes }: Variant): Summary {
  const found = new Map<string, Map<string, number[]>>();
  for (const { measures } of outcomes.values()) {
    for (const { metric, name, value } of measures) {
      if (typeof value !== "number") continue;
      const byName = found.get(metric) ?? new Map<string, number[]>();
      byName.set(name, [...(byName.get(name) ?? []), value]);
      found.set(metric, byName);
    }
  }
  const values: Summary["values"] = new Map();
  for (const [metric, byName] of found) {
    values.set(metric, new Map([...byName].map(([name, all]) => [name, estimate(all)!])));
  }
  const groups = parsed.groups.map(({ name }) => name);
  const elastic = groups.filter((name) => kindOfTraffic(parsed.resolved, name) === "greedy");
  return { label, groups, links: parsed.links.map(({ name }) => name), elastic, values };
}

function kindOfTraffic({ users }: Resolved, group: string): unknown {
  const { traffic } = ((users as Resolved)[group] ?? {}) as Resolved;
  return typeof traffic === "object" && traffic !== null && !Array.isArray(traffic) ? traffic.kind : traffic;
}
