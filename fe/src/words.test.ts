/** Identifiers of the pages and their browser tests use the field's words, not those of the left column here. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";

/** Words inside identifiers, and what to write instead: the noun for what the thing is. */
const WORDS: Readonly<Record<string, string>> = {
  told: "reported, recorded, detected, known",
  tell: "describe, detect, classify",
  tells: "describe, detect, classify",
  found: "matches, result, or the noun (gaps, rows)",
  made: "built, created, or the noun",
  kept: "retained, cached, selected, remaining",
  said: "message, label, text",
  say: "describe, format, announce",
  says: "describe, format, announce",
  look: "listing, scan, lookup",
  looks: "listing, scan, lookup",
  sought: "query",
  place: "location, source, position, index",
  places: "locations, sources, positions, indices",
  placed: "positioned",
  lacking: "missing",
  lacks: "isMissing",
  thinned: "downsampled",
  border: "boundary",
  borders: "boundaries",
  numbered: "indexed",
  numbering: "indices",
  examined: "checked",
  alive: "live, allocated",
  talking: "communication",
  quiet: "idle",
  asked: "requested, pending, query",
  beside: "sidecar, outside, adjacent",
  going: "outgoing",
  coming: "incoming",
  cut: "split, boundaries, shortened",
  cuts: "splits, boundaries",
  surroundings: "environment",
};

/** Identifiers that are one of these words alone. */
const BARE: Readonly<Record<string, string>> = { of: "the noun (gpuIdle, stepsOf)", per: "the noun (byStep)", what: "the noun", why: "reason" };

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
  if (Object.hasOwn(BARE, identifier)) return [`${identifier}: ${BARE[identifier]}`];
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
});

it("a banned word is reported with the words to use", () => {
  const names = identifiersOf("x.ts", "const keptRows = Uint8Array.of(1); const of = keptRows; const background = of;");
  expect([...names].flatMap(advice)).toEqual(["keptRows: for “kept” retained, cached, selected, remaining", "of: the noun (gpuIdle, stepsOf)"]);
});
