/** The rows of the trace picker: one per run, and below it one per file when it has several. */
import type { Run, Runs, Span } from "../api/types";
import { formatValue } from "../lib/format";
import { visibleText } from "../lib/visibleText";
import { dateOf, newestFirst, runDate, spansOf } from "../state/traceOrder";

export interface PickerRow {
  readonly key: string;
  readonly level: 1 | 2;
  readonly title: string;
  /** Format, date, size, state, number of files. */
  readonly details: string;
  /** Why it cannot be read; null when it can, or was not tried yet. */
  readonly problem: string | null;
  /** The trace it opens; a null part means the first readable one. */
  readonly run: string;
  readonly worker: string | null;
  readonly span: string | null;
  /** Null for a row without children. */
  readonly isOpen: boolean | null;
  /** Position among its siblings, from 1, and their number. */
  readonly position: number;
  readonly count: number;
}

export interface PickerState {
  readonly search: string;
  /** Runs whose files are shown without a search. */
  readonly open: ReadonlySet<string>;
  /** The run that has a view of all its workers. */
  readonly together?: string | null;
}

/** The worker of the row for all workers: real names come from file names, which have no slash. */
export const ALL_WORKERS = "/all";

/** @returns Rows from top to bottom, newest readable run first. */
export function pickerRows(runs: Runs["runs"], { search, open, together = null }: PickerState): PickerRow[] {
  const terms = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const shown = newestFirst(runs).flatMap((run) => {
    const runMatches = containsTerms(run.name, terms);
    const matches = filesOf(run).filter((file) => terms.length > 0 && containsTerms(`${run.name} ${file.text}`, terms));
    return runMatches || matches.length > 0 ? [{ run, matches: runMatches ? [] : matches }] : [];
  });
  return shown.flatMap(({ run, matches }, index) => {
    const files = filesOf(run);
    const isOpen = files.length < 2 ? null : matches.length > 0 || open.has(run.name);
    const listed = isOpen === true ? (matches.length > 0 ? matches : files) : [];
    const all = isOpen === true && matches.length === 0 && together === run.name ? [allRow(run)] : [];
    const children = [...all, ...listed.map((file) => fileRow(run, file))];
    return [runRow(run, files, isOpen, index + 1, shown.length), ...children.map((row, position) => ({ ...row, position: position + 1, count: children.length }))];
  });
}

function allRow(run: Run): Omit<PickerRow, "position" | "count"> {
  const names = { key: `all ${run.name}`, run: run.name, worker: ALL_WORKERS, span: null };
  return { ...names, level: 2, isOpen: null, problem: null, title: `All ${run.workers.length} workers`, details: "side by side" };
}

interface File {
  readonly worker: string;
  readonly span: Span;
  /** Whether the worker has several spans, so that the title needs the name of this one. */
  readonly isOneOfSeveral: boolean;
  /** The searched text. */
  readonly text: string;
}

function filesOf(run: Run): File[] {
  return run.workers.flatMap(({ name, spans }) =>
    spans.map((span) => ({ worker: name, span, isOneOfSeveral: spans.length > 1, text: `${name} ${span.name} ${span.path}` })),
  );
}

function containsTerms(text: string, terms: readonly string[]): boolean {
  const lower = text.toLowerCase();
  return terms.every((word) => lower.includes(word));
}

function runRow(run: Run, files: readonly File[], isOpen: boolean | null, position: number, count: number): PickerRow {
  const [only] = files.length === 1 ? files : [];
  const spans = spansOf(run);
  const failed = spans.filter(({ state }) => state === "failed");
  const size = formatValue(spans.reduce((sum, span) => sum + span.size_bytes, 0), "bytes");
  const fileText = only === undefined ? `${files.length} files` : visibleText(only.span.file);
  const problem = failed.length === spans.length ? reasonOf(failed[0]) : failed.length > 0 ? `${failed.length} of ${spans.length} files cannot be read` : null;
  return {
    ...{ key: `run ${run.name}`, level: 1, run: run.name, worker: null, span: null, isOpen, position, count, problem },
    title: runTitle(run),
    details: joined([formatsText(spans), dateText(runDate(run)), size, fileText, failed.length === spans.length ? "" : readState(spans)]),
  };
}

function fileRow(run: Run, { worker, span, isOneOfSeveral }: File): Omit<PickerRow, "position" | "count"> {
  const name = visibleText(worker === "" ? "(no name)" : worker);
  return {
    ...{ key: `file ${run.name}\n${worker}\n${span.name}`, level: 2, run: run.name, worker, span: span.name, isOpen: null },
    title: isOneOfSeveral ? `${name} ▸ ${spanTitle(span)}` : name,
    problem: span.state === "failed" ? reasonOf(span) : null,
    details: joined([formatsText([span]), dateText(dateOf(span)), formatValue(span.size_bytes, "bytes"), visibleText(span.file), span.state === "failed" ? "" : readState([span])]),
  };
}

/** The served folder itself has no name: then its first file gives the title. */
export function runTitle(run: Run): string {
  const [first] = spansOf(run);
  return visibleText(run.name !== "" ? run.name : (first?.file ?? "(no name)"));
}

export function spanTitle(span: Span): string {
  return /^\d+$/.test(span.name) ? `Span ${span.name}` : visibleText(span.name === "" ? "(no name)" : span.name);
}

function reasonOf(span: Span | undefined): string {
  return visibleText(span?.error?.message ?? "Cannot be read.");
}

/** The formats of the files, as far as they are known without reading them: "PyTorch, Nsight Systems". */
function formatsText(spans: readonly Span[]): string {
  return [...new Set(spans.map((span) => span.format_label ?? ""))].filter((label) => label !== "").join(", ");
}

/** How many of the files are read so far. */
function readState(spans: readonly Span[]): string {
  const parsing = spans.filter(({ state }) => state === "parsing");
  if (parsing.length > 0) return `being read, ${Math.round((100 * parsing.reduce((sum, span) => sum + span.progress, 0)) / parsing.length)} %`;
  const ready = spans.filter(({ state }) => state === "ready").length;
  if (ready === 0) return "not read yet";
  return ready === spans.length ? "read" : `${ready} of ${spans.length} read`;
}

/** "2026-03-09 14:05", in the time zone of the browser. */
export function dateText(seconds: number | null): string {
  if (seconds === null) return "";
  const date = new Date(1000 * seconds);
  const two = (number: number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}
