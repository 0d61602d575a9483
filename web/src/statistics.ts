// Means with 95 % confidence intervals (Student's t), and how they are written.

/** The 97.5th percentile of Student's t with 1, 2, ... degrees of freedom. */
const T = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
  2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];

export type Estimate = { mean: number; ci95: number | null; runs: number };

export function estimate(values: number[]): Estimate | null {
  const runs = values.length;
  if (!runs) return null;
  const mean = values.reduce((a, b) => a + b, 0) / runs;
  if (runs < 2) return { mean, ci95: null, runs };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (runs - 1);
  return { mean, ci95: (T[runs - 2] ?? 1.96 + 2.5 / runs) * Math.sqrt(variance / runs), runs };
}

/** As many digits as the interval has meaning, at most four of the mean, and three of it without an interval. */
export function written({ mean, ci95 }: Estimate, scale = 1): string {
  const [value, half] = [mean * scale, (ci95 ?? 0) * scale];
  if (half > 1e-4 * Math.abs(value)) {
    const digits = Math.min(places(half, half < 0.1 * Math.abs(value) ? 1 : 2), places(value, 4));
    return `${value.toFixed(digits)} ± ${half.toFixed(digits)}`;
  }
  return plain(value);
}

/** Three digits. */
export function plain(value: number): string {
  return value === 0 ? "0" : value.toFixed(places(value, 3));
}

function places(value: number, digits: number): number {
  if (value === 0) return 0;
  const order = Math.floor(Math.log10(Math.abs(value)));
  return Math.min(8, Math.max(0, digits - 1 - order));
}
