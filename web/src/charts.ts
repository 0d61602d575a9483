// Throughput and backlog over time, which zoom together.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Series } from "./run";

export type Shown = { label: string; series: Series };

const COLOURS = ["--g0", "--g1", "--g2", "--g3", "--g4", "--g5"];
const HEIGHT = 190;

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
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.again());
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
    const shape = JSON.stringify(this.shown.map(({ label, series }) => [label, series.time_s.length, series.throughput.map((one) => one.name)]));
    if (shape !== this.shape) this.zoomed = null;
    this.shape = shape;
    this.onZoom(this.zoomed);
    this.plots.forEach((plot) => plot.destroy());
    const most = (of: (series: Series) => { values: (number | null)[] }[]): number =>
      Math.max(...this.shown.flatMap(({ series }) => of(series).flatMap(({ values }) => values.map((value) => value ?? 0))), 0);
    const rate = most((series) => series.throughput) / 1e6;
    const backlog = most((series) => series.backlog);
    this.plots = this.shown.flatMap(({ label, series }) => [
      this.plot(`Throughput of all users [Mb/s]: ${label}`, series.time_s, series.throughput, 1e-6, rate),
      this.plot(`Queue [packets]: ${label}`, series.time_s, series.backlog, 1, backlog),
    ]);
  }

  private plot(title: string, time_s: number[], lines: Series["backlog"], scale: number, most: number): uPlot {
    const ink = colour("--ink");
    const grid = { stroke: colour("--line"), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid, font: "12px system-ui, sans-serif", size: 46 };
    const data: uPlot.AlignedData = [time_s, ...lines.map(({ values }) => values.map((value) => (value === null ? null : value * scale)))];
    const options: uPlot.Options = {
      title,
      width: this.width(),
      height: HEIGHT,
      cursor: { sync: { key: "time" }, drag: { x: true, y: false } },
      scales: { x: { time: false, range: (_, least, largest) => this.zoomed ?? [least, largest] }, y: { range: [0, most * 1.05 || 1] } },
      axes: [{ ...axis, size: 34, values: (_, ticks) => ticks.map((tick) => `${tick} s`) }, axis],
      series: [
        { label: "time [s]", value: (_, value) => (value === null ? "–" : value.toFixed(1)) },
        ...lines.map(({ name }, number) => ({
          label: name, stroke: colour(COLOURS[number % COLOURS.length]!), width: 1.5,
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
