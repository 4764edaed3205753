/** Splits a query in SQL into tokens: for its colours, and for what may follow the caret. Every text has tokens. */

export type TokenKind = "keyword" | "name" | "quoted" | "string" | "number" | "comment" | "symbol" | "space";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  /** Offset in the query. */
  readonly start: number;
  readonly end: number;
}

/** Words of the dialect that a query of tables uses; a column of such a name needs quotes. */
export const KEYWORDS: ReadonlySet<string> = new Set(
  (
    "all and anti any array as asc asof between by case cast collate cross cube current delete desc distinct else end except exclude " +
    "exists false fetch filter first following for from full grouping group having ilike in inner intersect interval into is isnull join last " +
    "lateral left like limit natural not notnull null nulls offset on only or order outer over partition pivot preceding qualify range " +
    "recursive replace right rollup row rows select semi set sets similar some table tablesample then true try_cast unbounded union unnest " +
    "unpivot using values when where window with within"
  ).split(" "),
);

// One alternative matches at every position, so that no text takes the square of its length.
const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s+)`,
    String.raw`(?<comment>--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?)`,
    String.raw`(?<string>'(?:[^']|'')*'?)`,
    String.raw`(?<quoted>"(?:[^"]|"")*"?)`,
    String.raw`(?<number>(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?)`,
    String.raw`(?<name>[\p{L}_][\p{L}\p{N}_$]*)`,
    String.raw`(?<symbol>[^])`,
  ].join("|"),
  "giuy",
);

export function tokensOf(query: string): Token[] {
  const tokens: Token[] = [];
  for (const match of query.matchAll(TOKEN)) {
    const [text] = match;
    const [kind = "symbol"] = Object.entries(match.groups ?? {}).find(([, value]) => (value as string | undefined) !== undefined) ?? [];
    const isKeyword = kind === "name" && KEYWORDS.has(text.toLowerCase());
    tokens.push({ kind: isKeyword ? "keyword" : (kind as TokenKind), text, start: match.index, end: match.index + text.length });
  }
  return tokens;
}

/** A stretch of a line in one colour. */
export interface PaintedRun {
  readonly kind: "keyword" | "string" | "number" | "comment" | "plain";
  readonly text: string;
  /** Offset in the query. */
  readonly start: number;
  readonly end: number;
}

/** The runs of each line; tokens that span lines are split, and those without a colour are joined. */
export function linesOf(tokens: readonly Token[]): PaintedRun[][] {
  const lines: PaintedRun[][] = [[]];
  for (const token of tokens) {
    const kind = runKind(token);
    let start = token.start;
    token.text.split("\n").forEach((text, index) => {
      if (index > 0) {
        lines.push([]);
        start += 1;
      }
      const line = lines.at(-1) ?? [];
      const last = line.at(-1);
      const end = start + text.length;
      if (last?.kind === "plain" && kind === "plain") line[line.length - 1] = { ...last, text: last.text + text, end };
      else if (text !== "") line.push({ kind, text, start, end });
      start = end;
    });
  }
  return lines;
}

function runKind({ kind }: Token): PaintedRun["kind"] {
  return kind === "keyword" || kind === "string" || kind === "number" || kind === "comment" ? kind : "plain";
}

/** The name that a token means: quotes removed, lower case as names have no case. */
export function nameOf({ kind, text }: Token): string {
  const plain = kind === "quoted" ? text.replace(/^"|"$/g, "").replaceAll('""', '"') : text;
  return plain.toLowerCase();
}

/** A name as it stands in a query: quoted where it is a word of the dialect, or no plain name. */
export function quotedName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !KEYWORDS.has(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
