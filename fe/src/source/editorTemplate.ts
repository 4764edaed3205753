/** The URL template of an editor, written by the user: `zed://file{path}:{line}:{column}`. */

/** Schemes that editors register. A frame of a trace must never open a web page, a script or data. */
const EDITOR_SCHEMES = new Set([
  ...["vscode", "vscode-insiders", "vscodium", "code-oss", "cursor", "windsurf", "trae", "kiro", "positron"],
  ...["pycharm", "idea", "clion", "jetbrains", "fleet", "zed", "subl", "sublime", "txmt", "mvim", "nvim", "vim", "emacs", "org-protocol"],
  ...["nova", "bbedit", "lapce", "kate"],
]);
const PLACEHOLDER = /\{([^{}]*)\}/g;
const KNOWN = new Set(["path", "line", "column"]);
/** Traces record no columns. */
const COLUMN = 1;

/** Why the template cannot be used, or null. */
export function templateProblem(template: string): string | null {
  const text = template.trim();
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return "The URL starts with the scheme of the editor, as in zed://file{path}:{line}.";
  if (!EDITOR_SCHEMES.has(scheme)) return `“${scheme}:” is not the scheme of a known editor, so it is not opened.`;
  const names = [...text.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
  const unknown = names.find((name) => !KNOWN.has(name));
  if (unknown !== undefined) return `Unknown placeholder {${unknown}}: use {path}, {line} and {column}.`;
  return names.includes("path") ? null : "The URL needs {path} for the file.";
}

/** @param path Absolute, with slashes. */
export function fillTemplate(template: string, path: string, line: number): string {
  const values: Readonly<Record<string, string>> = { path: encodePath(path), line: String(line), column: String(COLUMN) };
  return template.trim().replace(PLACEHOLDER, (whole, name: string) => values[name] ?? whole);
}

/** Encodes a path except separators and the colon of a drive, so that nothing in it ends the path or begins a query. */
export function encodePath(path: string): string {
  return path
    .split("/")
    .map((part) => encodeURIComponent(part).replace(/%3A/g, ":"))
    .join("/");
}
