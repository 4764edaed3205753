/** The address of an editor as its user writes it: `zed://file{path}:{line}:{column}`. */

/** Schemes that editors register. A page, a script or data is never what a frame of a trace opens. */
const EDITOR_SCHEMES = new Set([
  ...["vscode", "vscode-insiders", "vscodium", "code-oss", "cursor", "windsurf", "trae", "kiro", "positron"],
  ...["pycharm", "idea", "clion", "jetbrains", "fleet", "zed", "subl", "sublime", "txmt", "mvim", "nvim", "vim", "emacs", "org-protocol"],
  ...["nova", "bbedit", "lapce", "kate"],
]);
const PLACEHOLDER = /\{([^{}]*)\}/g;
const KNOWN = new Set(["path", "line", "column"]);
/** Traces record no columns. */
const COLUMN = 1;

/** Why it cannot be used, or null. */
export function templateProblem(template: string): string | null {
  const text = template.trim();
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return "The address begins with the scheme of the editor, as in zed://file{path}:{line}.";
  if (!EDITOR_SCHEMES.has(scheme)) return `“${scheme}:” is not known as the scheme of an editor, so it is not opened.`;
  const names = [...text.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
  const unknown = names.find((name) => !KNOWN.has(name));
  if (unknown !== undefined) return `There is no {${unknown}}: write {path}, {line} and {column}.`;
  return names.includes("path") ? null : "Write {path} where the file belongs.";
}

/** @param path Absolute, with slashes. */
export function fillTemplate(template: string, path: string, line: number): string {
  const values: Readonly<Record<string, string>> = { path: encodePath(path), line: String(line), column: String(COLUMN) };
  return template.trim().replace(PLACEHOLDER, (whole, name: string) => values[name] ?? whole);
}

/** Separators and the colon of a drive stay; nothing in it can end the path or begin a query. */
export function encodePath(path: string): string {
  return path
    .split("/")
    .map((part) => encodeURIComponent(part).replace(/%3A/g, ":"))
    .join("/");
}
