// Tables whose cells are text already, as the command prints them.

import { el } from "./dom";

export type Grid = {
  title: string;
  headings: string[];
  cells: string[][];
  /** Number of columns on the left that hold names. */
  text_columns: number;
};

/** A table that scrolls by itself where the page is narrow. */
export function gridTable({ title, headings, cells, text_columns }: Grid): HTMLElement {
  const side = (column: number): string => (column < text_columns ? "left" : "right");
  const head = headings.map((heading, column) =>
    heading ? el("th", { scope: "col", class: side(column) }, heading.replaceAll("\n", " ").trim()) : el("td"));
  const rows = cells.map((row) => el("tr", {}, ...row.map((cell, column) =>
    column < text_columns ? el("th", { scope: "row", class: side(column) }, cell) : el("td", {}, cell))));
  const table = el("table", { class: "grid" }, el("caption", {}, title), el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, table);
}
