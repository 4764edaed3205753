/** A finding as Markdown, for an issue or a pull request: title with its gain, text, the first rows of its evidence, links. */
import type { Note, Scalar, Table } from "../api/types";
import { readEvidence, type Evidence } from "./evidence";
import { formatValue } from "./format";
import { escapeMarkdown, markdownLine, markdownTable } from "./markdown";

/** Rows of evidence; the report and the exports have all. */
const ROWS = 5;

/** @param names Run, worker and span, where the finding is pasted elsewhere. */
export function findingMarkdown(note: Note, names: readonly string[] = []): string {
  const evidence = readEvidence(note);
  const title = evidence.title === null ? null : `**${escapeMarkdown(evidence.title)}${gainText(evidence)}.**`;
  const parts = [title === null ? markdownLine(note.text) : `${title} ${escapeMarkdown(note.text)}`];
  if (names.length > 0) parts.push(`Recording: ${escapeMarkdown(names.join(" · "))}`);
  if (evidence.rows !== null && evidence.rows.rows.length > 0) parts.push(rowsText(evidence.rows));
  const onSite = evidence.helpUrl?.startsWith("https://") === true ? [evidence.helpUrl] : [];
  const links = [...onSite, ...evidence.links];
  if (links.length > 0) parts.push(links.map((link) => `<${link}>`).join(" "));
  return `${parts.join("\n\n")}\n`;
}

function gainText({ gainUsPerStep, gainPctOfStep }: Evidence): string {
  if (gainUsPerStep === null || gainUsPerStep <= 0) return "";
  const share = gainPctOfStep === null ? "" : `, ${formatValue(gainPctOfStep, "pct")} of it`;
  return `: est. gain ${formatValue(gainUsPerStep, "us")} per step${share}`;
}

function rowsText({ columns, rows }: Table): string {
  const headers = columns.map(({ title, type }) => ({ title, isNumber: type === "integer" || type === "number" }));
  const shown = rows.slice(0, ROWS).map((row) => row.map((value: Scalar, at) => formatValue(value, columns[at]?.unit ?? null)));
  const left = rows.length - shown.length;
  return markdownTable(headers, shown) + (left > 0 ? `\n\nand ${left} more rows` : "");
}
