/** The rows of the table of MindSpore Insight's parts, as the card shows them. */
import type { Table } from "../../api/types";
import { colorVariables } from "../../chart/palette";
import { formatValue } from "../../lib/format";
import { numberOf, textOf } from "../../lib/rows";

export interface Part {
  /** In the table. */
  readonly key: string;
  readonly title: string;
  /** The pages that show all of it, the best first. */
  readonly views: readonly string[];
}

/** In the order of MindSpore Insight's page. */
export const PARTS: readonly Part[] = [
  { key: "step_trace", title: "Step trace", views: ["phases"] },
  { key: "operators", title: "Operators", views: ["operator_types", "kernels"] },
  { key: "data_preparation", title: "Data preparation", views: ["data"] },
  { key: "timeline", title: "Timeline", views: ["timeline"] },
];

export interface Figure {
  readonly item: string;
  /** A `share` is a part of the `whole` and of the picture; a `figure` is neither. */
  readonly kind: string;
  readonly us: number | null;
  readonly pct: number | null;
  readonly text: string;
  /** The CSS variable of a share's colour. */
  readonly color: string;
}

/** The figures of each part, by its key; parts without any are left out. */
export function partsOf(table: Table): Readonly<Record<string, readonly Figure[]>> {
  const parts: Record<string, Figure[]> = {};
  for (const row of table.rows) {
    const figure = {
      item: textOf(table, row, "item"),
      kind: textOf(table, row, "kind"),
      us: numberOf(table, row, "time_us"),
      pct: numberOf(table, row, "pct"),
      count: numberOf(table, row, "count"),
    };
    (parts[textOf(table, row, "part")] ??= []).push({ ...figure, text: figureText(figure), color: "" });
  }
  return Object.fromEntries(Object.entries(parts).map(([key, figures]) => [key, colored(figures)]));
}

/** A share is of time; else a figure may be a time, a number, a percentage, or several of them. */
function figureText({ kind, us, pct, count }: Pick<Figure, "kind" | "us" | "pct"> & { readonly count: number | null }): string {
  const time = us === null ? [] : [formatValue(us, "us")];
  const number = count === null || kind !== "figure" ? [] : [formatValue(count, "count")];
  return [...number, ...time, ...(pct === null ? [] : [formatValue(pct, "pct")])].join(" · ");
}

function colored(figures: readonly Figure[]): Figure[] {
  const shares = figures.filter(({ kind }) => kind === "share");
  const colors = colorVariables(shares.map(({ item }) => item));
  return figures.map((figure) => ({ ...figure, color: colors[shares.indexOf(figure)] ?? "" }));
}
