// Quantities of scenario files on sliders: a slider is logarithmic, and keeps the unit.

export type Quantity = { number: number; unit: string };

export function quantity(text: string): Quantity | null {
  const found = /^\s*([\d.]+(?:e-?\d+)?)\s*(\S+)\s*$/i.exec(text);
  return found ? { number: Number(found[1]), unit: found[2]! } : null;
}

const DECADES: { [unit: string]: number } = {
  "b/s": 1, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1,
  B: 1, kB: 1e3, MB: 1e6, KiB: 1024, MiB: 1024 ** 2, packets: 1, packet: 1,
};
const FAMILIES: [string[], number, number][] = [
  [["Gb/s", "Mb/s", "kb/s"], 1e5, 1e10],
  [["s", "ms", "us"], 1e-5, 1],
  [["MB", "kB", "B"], 1.5e3, 3e7],
  [["packets"], 1, 1e4],
];

/** Smallest and largest of what a slider with this unit offers, in its base unit; nothing for other units. */
function family(unit: string): [string[], number, number] | null {
  const same = unit === "µs" ? "us" : unit === "packet" ? "packets" : unit.replace("i", "");
  return FAMILIES.find(([units]) => units.includes(same) || (same === "ns" && units.includes("us"))) ?? null;
}

/** Where on a slider from 0 to 1000 the quantity is. */
export function toSlider(text: string): number | null {
  const given = quantity(text);
  const found = given && family(given.unit);
  if (!given || !found) return null;
  const [, least, most] = found;
  const base = Math.max(least, given.number * (DECADES[given.unit] ?? 1));
  return Math.min(1000, Math.round((1000 * Math.log(base / least)) / Math.log(most / least)));
}

/** The quantity there, with two digits and a readable unit. */
export function fromSlider(place: number, like: string): string {
  const [units, least, most] = family(quantity(like)!.unit)!;
  const base = least * (most / least) ** (place / 1000);
  const unit = units.find((one) => base >= DECADES[one]! * 0.9995) ?? units.at(-1)!;
  const number = Number((base / DECADES[unit]!).toPrecision(2));
  return `${unit === "packets" || unit === "B" ? Math.round(number) : number} ${unit}`;
}
