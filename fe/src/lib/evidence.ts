/** The structured evidence of a finding, validated: any property may be missing or of another type. */
import type { Column, Note, Scalar, Table, Unit } from "../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "./columns";

/** A time range, in ns since the first event, and the slice that it is about. */
export interface TimelineRange {
  readonly startNs: number;
  readonly endNs: number;
  readonly slice: number | null;
  /** The worker whose timeline is meant; null where the finding is about one trace. */
  readonly worker: string | null;
}

export interface SameTimeFinding {
  readonly title: string | null;
  readonly text: string;
}

export interface Evidence {
  readonly title: string | null;
  readonly measured: number | null;
  readonly threshold: number | null;
  /** Whether the threshold is a rule of thumb of this project; false where others published it. */
  readonly isRuleOfThumb: boolean;
  readonly unit: Unit | null;
  readonly gainUsPerStep: number | null;
  readonly gainPctOfStep: number | null;
  /** Why a small gain is small. */
  readonly gainReason: string | null;
  readonly architecture: string | null;
  /** Where on the timeline the worst occurrence is. */
  readonly timeline: TimelineRange | null;
  /** Other findings about the same time. */
  readonly sameTime: readonly SameTimeFinding[];
  /** The view with the rows in question. */
  readonly source: { readonly view: string; readonly params: Readonly<Record<string, string>> } | null;
  readonly links: readonly string[];
  /** Where the documentation describes it: a URL, or a file of the repository. */
  readonly helpUrl: string | null;
  readonly rows: Table | null;
}

export function readEvidence(note: Note): Evidence {
  const { evidence } = note;
  return {
    title: textOf(evidence["title"]),
    measured: numberOf(evidence["measured"]),
    threshold: numberOf(evidence["threshold"]),
    isRuleOfThumb: evidence["threshold_is_ours"] === true,
    unit: textOf(evidence["unit"]) as Unit | null,
    gainUsPerStep: numberOf(evidence["estimated_gain_us_per_step"]),
    gainPctOfStep: numberOf(evidence["estimated_gain_pct_of_step"]),
    gainReason: textOf(evidence["gain_reason"]),
    architecture: textOf(evidence["architecture"]),
    timeline: timelineRangeOf(evidence["timeline"]),
    sameTime: Array.isArray(evidence["same_time"]) ? evidence["same_time"].flatMap(sameTimeOf) : [],
    source: sourceOf(evidence["source"]),
    links: Array.isArray(evidence["links"]) ? evidence["links"].map(String).filter((link) => link.startsWith("https://")) : [],
    helpUrl: textOf(evidence["help_url"]),
    rows: evidenceTable(evidence["table"], evidence["rows"]),
  };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

/** Null when the value is not a time range. */
function timelineRangeOf(value: unknown): TimelineRange | null {
  if (typeof value !== "object" || value === null) return null;
  const { start_ns, end_ns, slice, worker } = value as Record<string, unknown>;
  const [startNs, endNs] = [numberOf(start_ns), numberOf(end_ns)];
  if (startNs === null || endNs === null || endNs < startNs) return null;
  return { startNs, endNs, slice: numberOf(slice), worker: textOf(worker) };
}

function sameTimeOf(value: unknown): SameTimeFinding[] {
  if (typeof value !== "object" || value === null) return [];
  const { title, text } = value as Record<string, unknown>;
  const content = textOf(text);
  return content === null ? [] : [{ title: textOf(title), text: content }];
}

/** The view, and the address parameters of its table. */
function sourceOf(value: unknown): Evidence["source"] {
  if (typeof value !== "object" || value === null) return null;
  const source = value as Record<string, unknown>;
  const view = textOf(source["view"]);
  if (view === null) return null;
  const tableName = textOf(source["table"]);
  const table = tableName ?? view;
  const params: Record<string, string> = tableName === null ? {} : { table: tableName };
  const groupBy = textOf(source["group_by"]);
  if (groupBy !== null) params["group_by"] = groupBy;
  for (const name of ["filter", "sort"]) {
    const text = textOf(source[name]);
    if (text !== null) params[`${table}.${name}`] = text;
  }
  return { view, params };
}

/** The rows as a table with the declared columns; null when there are no rows or no declaration. */
function evidenceTable(declared: unknown, value: unknown): Table | null {
  if (typeof declared !== "object" || declared === null || !Array.isArray(value) || value.length === 0) return null;
  const table = declared as Record<string, unknown>;
  const columns = Array.isArray(table["columns"]) ? table["columns"].flatMap(columnOf) : [];
  if (columns.length === 0) return null;
  const objects = value.filter((row): row is Record<string, unknown> => typeof row === "object" && row !== null);
  return {
    title: textOf(table["title"]) ?? "Evidence",
    help: textOf(table["help"]) ?? "",
    columns,
    rows: objects.map((row): Scalar[] => columns.map(({ key }) => scalarOf(row[key]))),
    row_count: objects.length,
    null_reasons: textsOf(table["null_reasons"]),
    sort: "",
    ...PLAIN_TABLE,
    help_url: textOf(table["help_url"]),
  };
}

const TYPES: readonly unknown[] = ["string", "integer", "number", "boolean"] satisfies readonly Column["type"][];

/** Empty without a key or with an unknown type; an unknown unit is shown as it is. */
function columnOf(value: unknown): Column[] {
  if (typeof value !== "object" || value === null) return [];
  const { key, title, type, unit, help, estimated, family } = value as Record<string, unknown>;
  if (typeof key !== "string" || !TYPES.includes(type)) return [];
  return [
    {
      key,
      title: textOf(title) ?? key,
      type: type as Column["type"],
      unit: textOf(unit) as Unit | null,
      help: textOf(help) ?? "",
      ...PLAIN_COLUMN,
      estimated: estimated === true,
      family: textOf(family),
    },
  ];
}

function textsOf(value: unknown): Record<string, string> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

function scalarOf(value: unknown): Scalar {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return value === null || value === undefined ? null : JSON.stringify(value);
}
