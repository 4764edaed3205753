/** What may follow at the caret of a query: tables after `from`, columns of its tables, words of the dialect. */
import type { ColumnPayload, SqlTablePayload } from "../../generated/schema";
import { baseLabel } from "../../lib/units";
import { isName, tablePositions, relationsOf, significant, type Relations, type TableNames } from "./relations";
import { KEYWORDS, nameOf, quotedName, tokensOf, type Token } from "./tokens";

export interface Completion {
  /** As it is listed. */
  readonly label: string;
  /** What is written instead of the typed part. */
  readonly text: string;
  readonly kind: "table" | "schema" | "column" | "function" | "keyword";
  /** Type and unit of a column; of a table how many columns it has. */
  readonly detail: string;
  readonly help: string;
}

export interface Completions {
  /** The typed part in the query, which the chosen one replaces. */
  readonly from: number;
  readonly to: number;
  readonly items: readonly Completion[];
}

const MAX_ITEMS = 60;
/** Characters that are typed before the list opens by itself. */
const MIN_TYPED = 2;

const FUNCTIONS: Readonly<Record<string, string>> = {
  avg: "Mean of the values.",
  coalesce: "The first value that is not null.",
  count: "Number of rows, or of values that are not null.",
  first_value: "Of a window: the value of its first row.",
  greatest: "The greatest of its arguments.",
  lag: "Of a window: the value of the row before.",
  last_value: "Of a window: the value of its last row.",
  lead: "Of a window: the value of the next row.",
  least: "The least of its arguments.",
  length: "Number of characters.",
  lower: "The text in lower case.",
  max: "The greatest value.",
  median: "The value in the middle.",
  min: "The least value.",
  quantile_cont: "quantile_cont(value, 0.99): the value below which that share lies.",
  rank: "Of a window: the rank of the row; equal rows have the same.",
  regexp_extract: "The part of a text that matches a regular expression.",
  regexp_matches: "Whether a text contains a match of a regular expression.",
  replace: "The text with parts replaced.",
  round: "round(value, digits).",
  row_number: "Of a window: the number of the row.",
  split_part: "split_part(text, separator, number).",
  starts_with: "Whether a text begins with another.",
  stddev: "Standard deviation.",
  string_agg: "string_agg(text, separator): the texts of all rows.",
  substring: "substring(text, first, length).",
  sum: "Sum of the values.",
};

/**
 * @param caret Offset in the query.
 * @param isWanted Whether the list was asked for, with an empty word too.
 * @returns Null where nothing is to be completed: in texts and comments, for words that are complete, after `as`.
 */
export function completionsAt(query: string, caret: number, names: TableNames, isWanted = false): Completions | null {
  const tokens = tokensOf(query);
  const inside = tokens.find(({ start, end }) => start < caret && caret <= end);
  if (inside !== undefined && isClosed(inside, caret)) return null;
  const isWord = inside?.kind === "name" || inside?.kind === "keyword";
  const from = isWord ? inside.start : caret;
  const typed = query.slice(from, caret);
  const before = significant(tokens.filter(({ end }) => end <= from));
  const qualifier = qualifierOf(before);
  if (!isWanted && qualifier === null && typed.length < MIN_TYPED) return null;
  if (before.at(-1)?.text.toLowerCase() === "as") return null;
  const all = candidates(query, before, qualifier, names);
  const items = ranked(all, typed.toLowerCase()).slice(0, MAX_ITEMS);
  const isComplete = !isWanted && items[0]?.label.toLowerCase() === typed.toLowerCase() && query.slice(caret, caret + 1) !== ".";
  return items.length === 0 || isComplete ? null : { from, to: isWord ? inside.end : caret, items };
}

/** Whether nothing is completed there: in a text, a comment, a number, or a name in quotes. */
function isClosed({ kind, text, end }: Token, caret: number): boolean {
  if (kind === "comment") return caret < end || text.startsWith("--");
  if (kind === "string" || kind === "quoted") return caret < end || text.length === 1 || !/['"]$/.test(text);
  return kind === "number";
}

/** The names before the dot at the caret; null without a dot. */
function qualifierOf(before: readonly Token[]): readonly string[] | null {
  if (before.at(-1)?.text !== ".") return null;
  const path: string[] = [];
  for (let at = before.length - 2; isName(before[at]); at -= 2) {
    path.unshift(nameOf(before[at] as Token));
    if (before[at - 1]?.text !== ".") break;
  }
  return path;
}

function candidates(query: string, before: readonly Token[], qualifier: readonly string[] | null, names: TableNames): Completion[] {
  const relations = relationsOf(tokensOf(query), names);
  if (qualifier !== null) return qualified(qualifier, relations, names);
  if (tablePositions(before).at(-1) === true) return tableCompletions(relations, names);
  return [...columnsOf(relations, names), ...functions(), ...keywords()];
}

/** After a dot: the columns of a table or alias, or the tables of a schema. */
function qualified(path: readonly string[], { tables, defined }: Relations, names: TableNames): Completion[] {
  const name = path.join(".");
  const table = tables.get(name) ?? (path.length > 1 ? names.get(name) : undefined);
  if (table !== undefined) return table.columns.map((column) => columnCompletion(column));
  const own = defined.get(name);
  if (own !== undefined) return own.map(computedColumn);
  const ofSchema = [...new Set(names.values())].filter((each) => each.name.startsWith(`${name}.`));
  if (ofSchema.length > 0) return ofSchema.map((each) => tableCompletion(each, each.name.slice(name.length + 1)));
  return names.get(name)?.columns.map((column) => columnCompletion(column)) ?? [];
}

function tableCompletions({ defined }: Relations, names: TableNames): Completion[] {
  const own = [...defined.keys()].map((name): Completion => ({ label: name, text: quotedName(name), kind: "table", detail: "of this query", help: "Defined by this query." }));
  const schemas = [...new Set([...names.values()].map(({ name }) => name.split(".")[0] ?? ""))];
  return [
    ...own,
    ...[...names].map(([name, table]) => tableCompletion(table, name)),
    ...schemas.filter((name) => !names.has(name)).map((name): Completion => ({ label: name, text: `${name}.`, kind: "schema", detail: "tables", help: name === "raw" ? "The tables of the recording itself." : `Tables of the view ${name}.` })),
  ];
}

/** Those of the tables that the query names; before it names one, those of all tables. */
function columnsOf({ tables, defined }: Relations, names: TableNames): Completion[] {
  const isKnown = tables.size > 0;
  const columns = new Map<string, Completion>();
  for (const name of [...defined.values()].flat()) columns.set(name, computedColumn(name));
  for (const table of isKnown ? new Set(tables.values()) : new Set(names.values())) {
    for (const column of table.columns) {
      const known = columns.get(column.key);
      columns.set(column.key, known === undefined ? columnCompletion(column, isKnown ? table.name : "") : { ...known, help: isKnown ? known.help : "A column of several tables." });
    }
  }
  const aliases = isKnown ? [...tables].map(([name, table]): Completion => ({ label: name, text: name.split(".").map(quotedName).join("."), kind: "table", detail: table.name, help: table.title })) : [];
  return [...columns.values(), ...aliases];
}

function columnCompletion(column: ColumnPayload, table = ""): Completion {
  const help = table === "" ? column.help : `${column.help} (${table})`;
  return { label: column.key, text: quotedName(column.key), kind: "column", detail: columnDetail(column), help };
}

/** "number, µs", "string". */
export function columnDetail({ type, unit }: Pick<ColumnPayload, "type" | "unit">): string {
  const label = baseLabel(unit);
  return label === "" ? type : `${type}, ${label}`;
}

function computedColumn(name: string): Completion {
  return { label: name, text: quotedName(name), kind: "column", detail: "of this query", help: "Computed by this query." };
}

function tableCompletion(table: SqlTablePayload, label: string): Completion {
  return { label, text: label.split(".").map(quotedName).join("."), kind: "table", detail: `${table.columns.length} columns`, help: table.help === "" ? table.title : table.help };
}

function functions(): Completion[] {
  return Object.entries(FUNCTIONS).map(([name, help]) => ({ label: `${name}()`, text: `${name}(`, kind: "function", detail: "function", help }));
}

function keywords(): Completion[] {
  return [...KEYWORDS].map((word) => ({ label: word, text: word, kind: "keyword", detail: "", help: "" }));
}

/** Those that begin with what is typed, then those with a word that does, then those that hold it; each in their order. */
function ranked(items: readonly Completion[], typed: string): Completion[] {
  const rank = ({ label }: Completion) => {
    const at = label.toLowerCase().indexOf(typed);
    if (at === 0) return label.toLowerCase() === typed ? 0 : 1;
    return at > 0 && /[_.]/.test(label[at - 1] ?? "") ? 2 : 3;
  };
  // A short word is in the middle of too many others.
  const isMatch = ({ label, kind }: Completion) => (kind === "keyword" || typed.length < MIN_TYPED ? label.toLowerCase().startsWith(typed) : label.toLowerCase().includes(typed));
  return items.filter(isMatch).toSorted((a, b) => rank(a) - rank(b));
}
