/** Texts as Markdown (GitHub flavour), for issues and pull requests. Names of a trace are hostile: nothing in them acts. */
import { visibleText } from "./visibleText";

/** What becomes a link by itself. */
const ADDRESS = /\/(?=\/)|(?<=mailto|xmpp):|(?<=www)\./g;

/** `text` with no character that Markdown or HTML would act on, on one line. */
export function escapeMarkdown(text: string): string {
  return visibleText(text)
    .replace(/[\r\n\t]+/g, " ")
    .replace(/[\\`*_[\]|~$]/g, "\\$&")
    .replace(ADDRESS, "\\$&")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;");
}

/** `text` escaped where it starts a line: no heading, item or rule. */
export function markdownLine(text: string): string {
  return escapeMarkdown(text)
    .trimStart()
    .replace(/^(\d*)([#+=.)-])/, "$1\\$2");
}

export interface MarkdownColumn {
  readonly title: string;
  readonly isNumber: boolean;
}

/** A table; the texts are escaped here. */
export function markdownTable(columns: readonly MarkdownColumn[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escapeMarkdown).join(" | ")} |`;
  const rule = `|${columns.map(({ isNumber }) => (isNumber ? "---:" : "---")).join("|")}|`;
  return [line(columns.map(({ title }) => title)), rule, ...rows.map(line)].join("\n");
}
