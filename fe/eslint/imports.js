/**
 * Two rules on what imports what, types included (`import-x/no-cycle` leaves those out):
 *
 * - `no-cycle`: no file imports itself, however many files lie between.
 * - `layers`: a folder of `src/` imports only from folders before it in the list that the rule is given.
 */
import path from "node:path";

import ts from "typescript";

const SOURCES = /\.tsx?$/;
const SUFFIXES = ["", ".ts", ".tsx", "/index.ts", "/index.tsx"];

/**
 * @param {string} file Of the import.
 * @param {string} specifier As it is written, without an extension.
 * @param {(name: string) => boolean} isFile
 * @returns {string | null} The file that is meant, null where it is a package or a style sheet.
 */
export function resolveImport(file, specifier, isFile) {
  if (!specifier.startsWith(".")) return null;
  const base = path.posix.join(path.posix.dirname(file), specifier);
  return SUFFIXES.map((suffix) => base + suffix).find((name) => SOURCES.test(name) && isFile(name)) ?? null;
}

/**
 * @param {ReadonlyMap<string, readonly string[]>} imports Files by the file that imports them.
 * @param {string} from
 * @param {string} to
 * @returns {string[] | null} The shortest way over imports, both ends included; null where there is none.
 */
export function importPath(imports, from, to) {
  /** @type {Map<string, string | null>} */
  const previous = new Map([[from, null]]);
  for (const file of previous.keys()) {
    if (file === to) {
      const way = [file];
      for (let at = previous.get(file); at != null; at = previous.get(at)) way.unshift(at);
      return way;
    }
    for (const next of imports.get(file) ?? []) if (!previous.has(next)) previous.set(next, file);
  }
  return null;
}

/**
 * @param {string} file
 * @param {string} root The folder with the layers.
 * @returns {string | null} The folder of a file directly below the root, null where it lies elsewhere.
 */
export function layerOf(file, root) {
  const [layer, ...rest] = path.posix.relative(root, file).split("/");
  return layer === undefined || layer === ".." || rest.length === 0 ? null : layer;
}

/** @type {WeakMap<ts.Program, Map<string, string[]>>} */
const graphs = new WeakMap();

/** @param {ts.Program} program */
function importsOf(program) {
  const known = graphs.get(program);
  if (known !== undefined) return known;
  const sources = program.getSourceFiles().filter(({ fileName }) => !fileName.includes("/node_modules/"));
  const names = new Set(sources.map(({ fileName }) => fileName));
  const graph = new Map(
    sources.map(({ fileName, text }) => {
      const specifiers = ts.preProcessFile(text, true, true).importedFiles.map((each) => each.fileName);
      return [fileName, specifiers.flatMap((specifier) => resolveImport(fileName, specifier, (name) => names.has(name)) ?? [])];
    }),
  );
  graphs.set(program, graph);
  return graph;
}

/**
 * @param {import("eslint").Rule.RuleContext} context
 * @param {(node: import("estree").Node, file: string, target: string, imports: Map<string, string[]>) => void} check
 * @returns {import("eslint").Rule.RuleListener} Calls `check` for every import of a source file.
 */
function onImport(context, check) {
  const imports = importsOf(context.sourceCode.parserServices.program);
  const file = context.filename.replaceAll("\\", "/");
  /** @param {{ source: import("estree").Node | null }} node */
  const visit = ({ source }) => {
    if (source?.type !== "Literal" || typeof source.value !== "string") return;
    const target = resolveImport(file, source.value, (name) => imports.has(name));
    if (target !== null) check(source, file, target, imports);
  };
  return { ImportDeclaration: visit, ExportNamedDeclaration: visit, ExportAllDeclaration: visit, ImportExpression: visit, TSImportType: visit };
}

/** @type {import("eslint").Rule.RuleModule} */
const noCycle = {
  meta: { type: "problem", schema: [], messages: { cycle: "A circle of imports: {{files}}." } },
  create: (context) =>
    onImport(context, (node, file, target, imports) => {
      const back = importPath(imports, target, file);
      if (back === null) return;
      const files = [file, ...back].map((name) => path.posix.relative(context.cwd.replaceAll("\\", "/"), name)).join(" → ");
      context.report({ node, messageId: "cycle", data: { files } });
    }),
};

/** @type {import("eslint").Rule.RuleModule} */
const layers = {
  meta: {
    type: "problem",
    schema: [{ type: "object", properties: { root: { type: "string" }, order: { type: "array", items: { type: "string" } } }, required: ["root", "order"], additionalProperties: false }],
    messages: { upward: "{{layer}}/ may not import from {{other}}/, which lies above it.", unknown: "{{layer}}/ has no place in the order of the folders (eslint.config.js)." },
  },
  create: (context) => {
    const { root, order } = context.options[0];
    return onImport(context, (node, file, target) => {
      const [layer, other] = [layerOf(file, root), layerOf(target, root)];
      if (layer === null || other === null || layer === other) return;
      if (!order.includes(layer)) context.report({ node, messageId: "unknown", data: { layer } });
      else if (order.indexOf(other) > order.indexOf(layer) || !order.includes(other)) context.report({ node, messageId: "upward", data: { layer, other } });
    });
  },
};

export default { rules: { "no-cycle": noCycle, layers } };
