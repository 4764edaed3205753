/** What a piece of advice carries besides its text (`torch_tb_profiler/advice/found.py`), read with care. */
import type { Column, Note, Row, Scalar, Table, Unit } from "../api/types";

export interface Evidence {
  readonly title: string | null;
  readonly measured: number | null;
  readonly threshold: number | null;
  readonly unit: Unit | null;
  readonly gainUsPerStep: number | null;
  readonly architecture: string | null;
  /** Where the rows are that it speaks of. */
  readonly source: { readonly view: string; readonly params: Readonly<Record<string, string>> } | null;
  readonly links: readonly string[];
  readonly rows: Table | null;
}

export function readEvidence(note: Note): Evidence {
  const { evidence } = note;
  return {
    title: textOf(evidence["title"]),
    measured: numberOf(evidence["measured"]),
    threshold: numberOf(evidence["threshold"]),
    unit: textOf(evidence["unit"]) as Unit | null,
    gainUsPerStep: numberOf(evidence["estimated_gain_us_per_step"]),
    architecture: textOf(evidence["architecture"]),
    source: sourceOf(evidence["source"]),
    links: Array.isArray(evidence["links"]) ? evidence["links"].map(String).filter((link) => link.startsWith("https://")) : [],
    rows: evidenceTable(evidence["rows"]),
  };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

/** View, its table, and the state of that table in the address. */
function sourceOf(value: unknown): Evidence["source"] {
  if (typeof value !== "object" || value === null) return null;
  const source = value as Record<string, unknown>;
  const view = textOf(source["view"]);
  if (view === null) return null;
  const named = textOf(source["table"]);
  const table = named ?? view;
  const params: Record<string, string> = named === null ? {} : { table: named };
  const groupBy = textOf(source["group_by"]);
  if (groupBy !== null) params["group_by"] = groupBy;
  for (const name of ["filter", "sort"]) {
    const text = textOf(source[name]);
    if (text !== null) params[`${table}.${name}`] = text;
  }
  return { view, params };
}

const UNIT_SUFFIX = /_(us|ns|bytes|pct)(?:_per_step)?$/;
/** What is counted in a unit, for titles that would be the same without it. */
const UNIT_WORDS: Readonly<Record<string, string>> = { us: "time", ns: "time", bytes: "bytes", pct: "share" };
/** Words that are not written like others. */
const SPELLED: Readonly<Record<string, string>> = { gpu: "GPU", gpus: "GPUs", cpu: "CPU", sm: "SM", id: "ID", nccl: "NCCL", est: "est." };

/** Rows of objects as a table; the units stand in the keys, as everywhere. */
function evidenceTable(value: unknown): Table | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  const objects = value.filter((row): row is Record<string, unknown> => typeof row === "object" && row !== null);
  const keys = [...new Set(objects.flatMap((row) => Object.keys(row)))];
  const cells = objects.map((row): Row => keys.map((key) => scalarOf(row[key])));
  // Names first: they say what the numbers are about.
  const order = keys
    .map((key, index) => ({ key, index, isText: cells.some((row) => typeof row[index] === "string") }))
    .sort((a, b) => Number(b.isText) - Number(a.isText));
  return {
    title: "Evidence",
    help: "The rows this finding is about.",
    columns: toldApart(order.map(({ key, index, isText }) => evidenceColumn(key, isText ? "string" : numberType(cells, index)))),
    rows: cells.map((row) => order.map(({ index }) => row[index] ?? null)),
    row_count: cells.length,
    null_reasons: {},
    sort: "",
    tree: null,
  };
}

function scalarOf(value: unknown): Scalar {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return value === null || value === undefined ? null : JSON.stringify(value);
}

function numberType(rows: readonly Row[], index: number): Column["type"] {
  return rows.every((row) => row[index] === null || Number.isInteger(row[index])) ? "integer" : "number";
}

function evidenceColumn(key: string, type: Column["type"]): Column {
  const unit = (UNIT_SUFFIX.exec(key)?.[1] ?? null) as Unit | null;
  const words = key.replace(/_(us|ns|bytes|pct)(?=_per_step$|$)/, "").split("_");
  const text = words.map((word) => SPELLED[word] ?? word).join(" ");
  const title = text.charAt(0).toUpperCase() + text.slice(1);
  return { key, title, type, unit: type === "string" ? null : unit, help: "", estimated: key.startsWith("est_") };
}

/** `total_us` beside `total_bytes`: "Total time" beside "Total bytes". */
function toldApart(columns: readonly Column[]): Column[] {
  return columns.map((column) => {
    const words = column.unit === null ? undefined : UNIT_WORDS[column.unit];
    const isAlone = columns.every((other) => other === column || other.title !== column.title);
    return isAlone || words === undefined ? column : { ...column, title: `${column.title} ${words}` };
  });
}
