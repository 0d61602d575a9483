// Throughput and backlog over time, which zoom together.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { COLOURS } from "./results";
import type { Series } from "./run";

export type Shown = { label: string; series: Series };

const HEIGHT = 190;
/** Figures of groups, and of links. */
const MOST = 8;

/** What one figure shows of each variant. */
type Quantity = { title: string; scale: number; of: (series: Series) => (number | null)[] | undefined };

/** Throughput of each group, then the queue of each bottleneck. */
function quantities(every: Series[]): Quantity[] {
  const named = (kind: "throughput" | "backlog"): string[] => [...new Set(every.flatMap((series) => series[kind].map(({ name }) => name)))].slice(0, MOST);
  const of = (kind: "throughput" | "backlog", name: string) => (series: Series) => series[kind].find((one) => one.name === name)?.values;
  return [
    ...named("throughput").map((name) => ({ title: `Throughput of all users of ${name} [Mb/s]`, scale: 1e-6, of: of("throughput", name) })),
    ...named("backlog").map((name) => ({ title: `Queue at ${name} [packets]`, scale: 1, of: of("backlog", name) })),
  ];
}

export class Charts {
  private plots: uPlot[] = [];
  private zoomed: [number, number] | null = null;
  private shape = "";

  constructor(
    private readonly place: HTMLElement,
    /** What is shown of the time has changed. */
    private readonly onZoom: (part: [number, number] | null) => void,
  ) {
    new ResizeObserver(() => this.plots.forEach((plot) => plot.setSize({ width: this.width(), height: HEIGHT }))).observe(place);
    for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", () => this.again());
  }

  private shown: Shown[] = [];

  show(shown: Shown[]): void {
    this.shown = shown;
    this.again();
  }

  /** Shows this part of the time, or all of it. */
  zoom(part: [number, number] | null): void {
    this.zoomed = part;
    this.again();
  }

  /** The canvases, top to bottom. */
  canvases(): HTMLCanvasElement[] {
    return this.plots.map((plot) => plot.ctx.canvas);
  }

  private again(): void {
    const every = quantities(this.shown.map(({ series }) => series));
    const shape = JSON.stringify([every.map(({ title }) => title), this.shown.map(({ label, series }) => [label, series.time_s.length])]);
    if (shape !== this.shape) this.zoomed = null;
    this.shape = shape;
    this.onZoom(this.zoomed);
    this.plots.forEach((plot) => plot.destroy());
    this.plots = every.map((quantity) => this.plot(quantity));
  }

  /** A line for each variant, whose colour it has in all figures. */
  private plot({ title, scale, of }: Quantity): uPlot {
    const lines = this.shown.flatMap(({ label, series }, number) => {
      const values = of(series);
      return values ? [{ label, number, time_s: series.time_s, values: values.map((value) => (value === null ? null : value * scale)) }] : [];
    });
    const most = Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
    const ink = colour("--ink");
    const grid = { stroke: colour("--line"), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid, font: "12px system-ui, sans-serif", size: 46 };
    // Variants may be sampled at other times.
    const data = uPlot.join(lines.map(({ time_s, values }): uPlot.AlignedData => [time_s, values]));
    const options: uPlot.Options = {
      title,
      width: this.width(),
      height: HEIGHT,
      cursor: { sync: { key: "time" }, drag: { x: true, y: false } },
      scales: { x: { time: false, range: (_, least, largest) => this.zoomed ?? [least, largest] }, y: { range: [0, most * 1.05 || 1] } },
      axes: [{ ...axis, size: 34, values: (_, ticks) => ticks.map((tick) => `${tick} s`) }, axis],
      series: [
        { label: "time [s]", value: (_, value) => (value === null ? "–" : value.toFixed(1)) },
        ...lines.map(({ label, number }) => ({
          label, stroke: colour(`--g${number % COLOURS}`), width: 1.5, spanGaps: true,
          ...(number < COLOURS ? {} : { dash: [6, 4] }),
          value: (_: uPlot, value: number | null) => (value === null ? "–" : value.toPrecision(3)),
        })),
      ],
      hooks: {
        setSelect: [(plot) => {
          if (plot.select.width < 4) return;
          this.zoomed = [plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x")];
          setTimeout(() => this.again());
        }],
      },
    };
    const figure = document.createElement("figure");
    figure.setAttribute("aria-label", title);
    this.place.append(figure);
    const plot = new uPlot(options, data, figure);
    const destroy = plot.destroy.bind(plot);
    plot.destroy = () => {
      destroy();
      figure.remove();
    };
    return plot;
  }

  private width(): number {
    return Math.max(280, Math.floor(this.place.clientWidth));
  }
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
