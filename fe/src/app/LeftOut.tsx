/** Files that were left out of the runs: which, why, and a button that opens them anyway. */
import { useState } from "react";

import { ApiError, apiUrl, fetchJson } from "../api/client";
import { fetchUncached } from "../api/queryClient";
import { refetchRuns } from "../api/runs";
import type { LeftOutFile, Opened, Runs } from "../api/types";
import { formatNumber } from "../lib/format";
import { visibleText } from "../lib/visibleText";
import { NO_SELECTION } from "../state/selection";
import { navigate } from "../state/urlStore";

/** Other JSON files are everywhere: they are listed, but not counted as missing. */
const ORDINARY = "not_a_trace";

interface Props {
  readonly runs: Runs;
  readonly onOpened?: () => void;
}

export function LeftOut({ runs: { left_out: files, left_out_counts: counts }, onOpened }: Props) {
  const [isOpen, setOpen] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  const open = async (name: string) => {
    setProblem(null);
    try {
      const { run, worker, span } = await fetchUncached(apiUrl("open", { name }), fetchJson<Opened>);
      await refetchRuns();
      navigate({ run, worker, span, ...NO_SELECTION });
      onOpened?.();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setProblem(`${error.failure.message} ${error.failure.hint ?? ""}`);
    }
  };
  return (
    <div className="left-out">
      <button type="button" className="frame-link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {leftOutText(counts)}
      </button>
      {problem !== null && <p role="alert">{visibleText(problem)}</p>}
      {isOpen && (
        <ul>
          {files.map((file) => (
            <li key={file.name}>
              <span>
                <span className="mono">{visibleText(file.name)}</span> <span className="soft">{visibleText(restOf(file))}</span>
              </span>
              {file.can_open && (
                <button type="button" className="button" aria-label={`Open ${visibleText(file.name)}`} onClick={() => void open(file.name)}>
                  Open
                </button>
              )}
            </li>
          ))}
          {all > files.length && <li className="soft">and {formatNumber(all - files.length)} more</li>}
        </ul>
      )}
    </div>
  );
}

/** The reason without the file name with which its sentence begins. */
export function restOf({ name, text }: LeftOutFile): string {
  return text.startsWith(`${name} `) ? text.slice(name.length + 1) : text;
}

/** "3 files were left out"; for files that are not traces anyway "5 other JSON files". */
export function leftOutText(counts: Readonly<Record<string, number>>): string {
  const ordinary = counts[ORDINARY] ?? 0;
  const missing = Object.values(counts).reduce((sum, count) => sum + count, 0) - ordinary;
  const files = (count: number, kind: string) => `${formatNumber(count)} ${kind}${count === 1 ? "" : "s"}`;
  const others = files(ordinary, "other JSON file");
  if (missing === 0) return others;
  return `${files(missing, "file")} ${missing === 1 ? "was" : "were"} left out${ordinary > 0 ? `, and ${others}` : ""}`;
}
