/** Where in a query its error is, so that the editor can mark it. */
import type { Failure } from "../../api/types";
import { isName, significant } from "./relations";
import { nameOf, tokensOf } from "./tokens";

export interface ErrorRange {
  readonly start: number;
  readonly end: number;
}

/** As the server writes it; what follows quotes the query. */
const POSITION = /\(line (\d+), column (\d+), at /;
const TABLE = /^(?:There is no table|Several views have a table) '([^']*)'/;

/** Whether the message itself names line and column. */
export function hasPosition({ message }: Pick<Failure, "message">): boolean {
  return POSITION.test(message);
}

/** The word at the named line and column, or the table that there is not; null where the message names none. */
export function errorRange(query: string, { message }: Pick<Failure, "message">): ErrorRange | null {
  const [, line, column] = POSITION.exec(message) ?? [];
  if (line !== undefined && column !== undefined) return wordAt(query, Number(line), Number(column));
  const [, table] = TABLE.exec(message) ?? [];
  return table === undefined ? null : tableIn(query, table.toLowerCase());
}

/** @param column Counts characters, not the halves of which some consist here. */
function wordAt(query: string, line: number, column: number): ErrorRange | null {
  const lines = query.split("\n");
  const text = lines[line - 1];
  if (text === undefined) return null;
  const lineStart = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  const start = lineStart + Array.from(text).slice(0, column - 1).join("").length;
  const token = tokensOf(query).find(({ end }) => end > start);
  // At the end of the query the last word is marked.
  if (token === undefined || (token.kind === "space" && start >= query.trimEnd().length)) {
    const last = significant(tokensOf(query)).at(-1);
    return last === undefined ? null : { start: last.start, end: last.end };
  }
  return { start, end: token.end };
}

/** The names of the table, joined by dots. */
function tableIn(query: string, table: string): ErrorRange | null {
  const words = significant(tokensOf(query));
  const path = table.split(".");
  for (let at = 0; at < words.length; at++) {
    const named = path.map((_, index) => words[at + 2 * index]);
    if (named.every((word, index) => isName(word) && nameOf(word) === path[index])) return { start: named[0]?.start ?? 0, end: named.at(-1)?.end ?? 0 };
  }
  return null;
}

/** "line 3, column 5", for people. */
export function positionText(query: string, { start }: ErrorRange): string {
  const before = query.slice(0, start).split("\n");
  return `line ${before.length}, column ${Array.from(before.at(-1) ?? "").length + 1}`;
}
