/** Which of the sixteen times of operator types are columns: the totals, all figures of one measure, or all. */
import type { Table } from "../../api/types";

const FIGURES = ["total", "mean", "min", "max"] as const;
const MEASURES = ["cpu", "gpu", "cpu_overhead", "gpu_idle"] as const;
const TITLES = {
  total: "Totals",
  cpu: "CPU",
  gpu: "GPU",
  cpu_overhead: "CPU overhead",
  gpu_idle: "GPU idle",
  all: "All 16",
} as const;

type Times = keyof typeof TITLES;

export const DEFAULT_TIMES: Times = "total";
/** With all times shown, what else is known makes room. */
const LESS_NEEDED = new Set(["operators", "timed_calls", "tensor_core_eligible", "tensor_core_used", "pct"]);

/** The title of a choice, with the word of the table's devices: "NPU idle" where its column is "NPU Idle Total". */
export function timesTitle(times: string, { columns }: Pick<Table, "columns">): string {
  const title = isTimes(times) ? TITLES[times] : times;
  const device = columns.find(({ key }) => key === "gpu_total_us")?.title.replace(/ .*/, "") ?? "GPU";
  return title.replace("GPU", device);
}

function isTimes(text: string | undefined): text is Times {
  return text !== undefined && Object.hasOwn(TITLES, text);
}

/** The choices that have values. */
export function timesOf(table: Table): Times[] {
  const has = (measure: string) => table.columns.some(({ key }, index) => key === `${measure}_total_us` && table.rows.some((row) => row[index] !== null));
  const measures = MEASURES.filter(has);
  return measures.length < 2 ? [] : [DEFAULT_TIMES, ...measures, "all"];
}

/** What an address asks for; the totals otherwise. */
export function chosenTimes(text: string | undefined): Times {
  return isTimes(text) ? text : DEFAULT_TIMES;
}

/** The table with the columns of a choice; those of other times are hidden unless the reader shows them. */
export function withTimes(table: Table, times: Times): Table {
  const isShown = (measure: string, figure: string) => times === "all" || times === measure || times === figure;
  const hidden = new Map<string, boolean>(MEASURES.flatMap((measure) => FIGURES.map((figure) => [`${measure}_${figure}_us`, !isShown(measure, figure)] as const)));
  const columns = table.columns.map((column) => ({ ...column, hidden: hidden.get(column.key) ?? (column.hidden || (times === "all" && LESS_NEEDED.has(column.key))) }));
  return { ...table, columns };
}
