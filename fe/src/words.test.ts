/** Identifiers of the pages and their browser tests use the field's words, not those listed in `tests/data/words.toml`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";

const LIST = readFileSync(join(import.meta.dirname, "../../tests/data/words.toml"), "utf8");

/** One table of the list that the package's test reads too; its entries are `word = "what to write instead"`. */
function wordTable(name: string): Record<string, string> {
  const body = LIST.split(/^\[/m).find((table) => table.startsWith(`${name}]`)) ?? "";
  return Object.fromEntries([...body.matchAll(/^(\w+) = "(.*)"/gm)].map(([, word = "", instead = ""]) => [word, instead]));
}

/** Words inside identifiers, and what to write instead: the noun for what the thing is. */
const WORDS: Readonly<Record<string, string>> = {
  ...wordTable("instead"),
  say: "describe, format, announce",
  says: "describe, format, announce",
  looks: "listing, scan, lookup",
  placed: "positioned",
  cut: "split, boundaries, shortened",
  cuts: "splits, boundaries",
  surroundings: "environment",
};

/** Identifiers that are one of these words alone. */
const WHOLE: Readonly<Record<string, string>> = { ...wordTable("whole"), what: "the noun", why: "reason" };

/** Why each of these stays. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  silent_places: "key of the server's JSON",
  place: "key of the server's JSON, in an entry of silent_places",
  surroundings: "key of a table in the server's JSON",
  borderLeftColor: "property of CSSOM",
  borderColor: "option of ECharts",
};

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "generated" ? [] : sources(path);
    return /\.tsx?$/.test(path) ? [path] : [];
  });
}

/** "retainedTiles_px" → retained, tiles, px. */
function wordsOf(identifier: string): string[] {
  return identifier
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .toLowerCase()
    .split(/[_$#]+/);
}

function advice(identifier: string): string[] {
  if (identifier in EXCEPTIONS) return [];
  if (Object.hasOwn(WHOLE, identifier)) return [`${identifier}: ${WHOLE[identifier]}`];
  return wordsOf(identifier).flatMap((word) => (Object.hasOwn(WORDS, word) ? [`${identifier}: for “${word}” ${WORDS[word]}`] : []));
}

/** Names that a file declares or uses; `Uint8Array.of` and the like belong to the platform. */
function identifiersOf(path: string, text: string): Set<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) {
      const isMember = ts.isPropertyAccessExpression(node.parent) && node.parent.name === node;
      if (!isMember || node.text !== "of") names.add(node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS));
  return names;
}

it("identifiers use the field's words", () => {
  const root = join(import.meta.dirname, "..");
  const files = [...sources(join(root, "src")), ...sources(join(root, "e2e"))].filter((path) => path !== import.meta.filename);
  const odd = files.flatMap((path) =>
    [...identifiersOf(path, readFileSync(path, "utf8"))].flatMap(advice).map((line) => `${path.slice(root.length + 1)}: ${line}`),
  );
  expect(odd).toEqual([]);
}, 60_000); // It parses every source, which takes seconds on a loaded machine.

it("a banned word is reported with the words to use", () => {
  const names = identifiersOf("x.ts", "const keptRows = Uint8Array.of(1); const of = keptRows; const background = of;");
  expect([...names].flatMap(advice)).toEqual([`keptRows: for “kept” ${WORDS["kept"]}`, `of: ${WHOLE["of"]}`]);
  expect(Object.keys(WORDS).length).toBeGreaterThan(20);
});
