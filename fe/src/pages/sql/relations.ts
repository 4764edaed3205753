/** What the names in a query mean, as far as its tokens show: its tables, their aliases, and what it defines with `with`. */
import type { SqlTablePayload } from "../../generated/schema";
import { nameOf, type Token } from "./tokens";

/** The tables by every name that a query may call them: with schema, and alone where that is unambiguous. */
export type TableNames = ReadonlyMap<string, SqlTablePayload>;

export interface Relations {
  /** Tables by the names that columns are qualified with: aliases, and names. */
  readonly tables: ReadonlyMap<string, SqlTablePayload>;
  /** What the query defines itself, with the names that it gives to columns. */
  readonly defined: ReadonlyMap<string, readonly string[]>;
}

export function tableNames(tables: readonly SqlTablePayload[]): TableNames {
  // The short names first, as they are listed so.
  const short = tables.flatMap((table): [string, SqlTablePayload][] => (table.short_name === null ? [] : [[table.short_name, table]]));
  return new Map([...short, ...tables.map((table): [string, SqlTablePayload] => [table.name, table])]);
}

/** Where the list of tables ends. */
const AFTER_TABLES: ReadonlySet<string> = new Set(["where", "group", "having", "order", "limit", "offset", "qualify", "window", "union", "intersect", "except", "select", "on", "using"]);

/** Without spaces and comments. */
export function significant(tokens: readonly Token[]): Token[] {
  return tokens.filter(({ kind }) => kind !== "space" && kind !== "comment");
}

export function isName(token: Token | undefined): token is Token {
  return token !== undefined && (token.kind === "name" || token.kind === "quoted");
}

/** @param tokens Those of the whole query. */
export function relationsOf(tokens: readonly Token[], names: TableNames): Relations {
  const words = significant(tokens);
  const tables = new Map<string, SqlTablePayload>();
  const defined = definitionsOf(words);
  const positions = tablePositions(words);
  words.forEach((_, at) => {
    if (positions[at] !== true) return;
    const { path, next } = pathAt(words, at);
    const table = names.get(path.join("."));
    if (table === undefined) return;
    const afterAs = words[next]?.text.toLowerCase() === "as" ? next + 1 : next;
    const alias = words[afterAs];
    if (isName(alias)) tables.set(nameOf(alias), table);
    else {
      tables.set(path.join("."), table);
      tables.set(path.at(-1) ?? "", table);
    }
  });
  return { tables, defined };
}

/**
 * Whether a table is named at each word, and behind the last one: after `from` and `join`, and after a comma in the list
 * of tables.
 */
export function tablePositions(words: readonly Token[]): boolean[] {
  const positions = [false];
  // Whether a list of tables is open in each of the parentheses around.
  const lists = [false];
  for (const { kind, text } of words) {
    const word = text.toLowerCase();
    let isNext = false;
    if (word === "(") lists.push(false);
    else if (word === ")" && lists.length > 1) lists.pop();
    else if (word === ",") isNext = lists.at(-1) === true;
    else if (kind === "keyword") {
      isNext = word === "from" || word === "join";
      if (word === "from" || AFTER_TABLES.has(word)) lists[lists.length - 1] = word === "from";
    }
    positions.push(isNext);
  }
  return positions;
}

/** The names joined by dots from this word on. */
function pathAt(words: readonly Token[], at: number): { readonly path: readonly string[]; readonly next: number } {
  const path: string[] = [];
  let next = at;
  while (isName(words[next])) {
    path.push(nameOf(words[next] as Token));
    if (words[next + 1]?.text !== ".") return { path, next: next + 1 };
    next += 2;
  }
  return { path, next };
}

/** `name as (…)`, with the names after `as` in the parentheses. */
function definitionsOf(words: readonly Token[]): Map<string, readonly string[]> {
  const defined = new Map<string, readonly string[]>();
  words.forEach((word, at) => {
    const isDefined = isName(word) && words[at + 1]?.text.toLowerCase() === "as" && words[at + 2]?.text === "(";
    if (!isDefined) return;
    let depth = 1;
    const columns: string[] = [];
    for (let index = at + 3; index < words.length && depth > 0; index++) {
      const { text } = words[index] as Token;
      if (text === "(") depth += 1;
      else if (text === ")") depth -= 1;
      else if (depth === 1 && words[index - 1]?.text.toLowerCase() === "as" && isName(words[index])) columns.push(nameOf(words[index] as Token));
    }
    defined.set(nameOf(word), columns);
  });
  return defined;
}
