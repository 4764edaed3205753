/** The findings, worst first: each with its number, gain, evidence and a link to the rows. */
import { useMemo, useState } from "react";

import type { Note, Table } from "../api/types";
import { readEvidence, type Evidence } from "../lib/evidence";
import { formatValue } from "../lib/format";
import { visibleText } from "../lib/visibleText";
import { useProfileNames } from "../state/profile";
import { DataTable } from "../table/DataTable";
import { ShowRangeOnTimeline } from "../timeline/ShowOnTimeline";
import { ViewLink } from "../ui/ViewLink";
import { Checks } from "./Checks";
import { worstFirst } from "./QualityNotes";
import { requestReveal } from "./reveal";

/** Findings shown at once; the others on demand. */
const SHOWN_FINDINGS = 5;

/** What links to the card call it. */
export const FINDINGS = "findings";

interface Props {
  readonly notes: readonly Note[];
  /** Whether the card is shown without findings too. */
  readonly always: boolean;
  /** The table of all checks, if the view has it. */
  readonly checked?: Table | undefined;
  /** Whether the checks are still being computed. */
  readonly pending?: boolean;
}

/** What the card says until the checks are done. */
const PENDING = "The checks are still running. Their findings will appear here; the tables below are complete.";

export function Findings({ notes, always, checked, pending = false }: Props) {
  const [all, setAll] = useState(false);
  const advice = worstFirst(notes.filter((note) => note.kind === "advice"));
  if (advice.length === 0 && !always) return null;
  return (
    <section className="card" aria-label="Findings" data-table={FINDINGS}>
      <header>
        <h2>Findings</h2>
        {advice.length > 1 && (
          <span className="soft" title="Sorted by estimated gain, or by the time involved where no gain can be estimated. File problems come first.">
            largest first
          </span>
        )}
        <span style={{ flex: 1 }} />
        {advice.length > SHOWN_FINDINGS && (
          <button type="button" className="button" onClick={() => setAll(!all)}>
            {all ? `Only the first ${SHOWN_FINDINGS}` : `All ${advice.length}`}
          </button>
        )}
      </header>
      {advice.length === 0 ? (
        <p className="body soft" role="status">
          {pending ? PENDING : "No check found an issue in this selection."}
          {checked !== undefined && " The operators and kernels with the most time are below."}
        </p>
      ) : (
        <ol className="findings">
          {(all ? advice : advice.slice(0, SHOWN_FINDINGS)).map((note, index) => (
            <Finding key={`${note.code} ${index}`} note={note} rank={index + 1} />
          ))}
        </ol>
      )}
      {checked !== undefined && <Checks table={checked} findings={advice.map(({ code }) => code)} />}
    </section>
  );
}

function Finding({ note, rank }: { readonly note: Note; readonly rank: number }) {
  const evidence = useMemo(() => readEvidence(note), [note]);
  const [open, setOpen] = useState(false);
  const names = useProfileNames();
  return (
    <li>
      <span className={`finding-mark ${note.severity}`} title={note.severity === "warning" ? "Worth acting on" : "Worth knowing"}>
        {rank}
      </span>
      <div>
        <p className="finding-text">
          {evidence.title !== null && <b>{evidence.title}. </b>}
          {visibleText(note.text)}
        </p>
        <p className="evidence">
          {evidence.measured !== null && <span>{measuredText(evidence)}</span>}
          {evidence.architecture !== null && <span>on {evidence.architecture}</span>}
          {evidence.rows !== null && (
            <span>
              <button type="button" className="frame-link" aria-expanded={open} onClick={() => setOpen(!open)}>
                {open ? "Hide the evidence" : "Evidence"}
              </button>
            </span>
          )}
          {evidence.timeline !== null && (
            <span>
              <ShowRangeOnTimeline range={evidence.timeline} />
            </span>
          )}
          {evidence.source !== null && (
            <span>
              <ViewLink view={evidence.source.view} params={evidence.source.params} onGo={requestReveal}>
                Show the rows
              </ViewLink>
            </span>
          )}
          {evidence.links.map((link) => (
            <span key={link}>
              <a href={link} target="_blank" rel="noreferrer">
                {link.replace(/^https:\/\/([^/]+).*$/, "$1")} ↗
              </a>
            </span>
          ))}
        </p>
        {evidence.sameTime.map(({ title, text }) => (
          <p key={`${title ?? ""} ${text}`} className="finding-text same-time">
            Same time, seen another way: {title !== null && <b>{title}. </b>}
            {visibleText(text)}
          </p>
        ))}
      </div>
      <Gain evidence={evidence} />
      {open && evidence.rows !== null && (
        <div className="rows">
          <DataTable name={`evidence ${note.code}`} table={evidence.rows} source={null} fileName={["evidence", note.code, ...names].join("_")} maxHeight="300px" />
        </div>
      )}
    </li>
  );
}

function Gain({ evidence: { gainUsPerStep, gainPctOfStep } }: { readonly evidence: Evidence }) {
  if (gainUsPerStep === null || gainUsPerStep <= 0) return <span />;
  return (
    <p className="finding-gain" title="Estimated upper bound of the time saved per step">
      <b>{formatValue(gainUsPerStep, "us")}</b>
      <br />
      <small>{gainPctOfStep === null ? "per step" : `${formatValue(gainPctOfStep, "pct")} of the step`}, est. gain</small>
    </p>
  );
}

/** "measured 33.4 %, rule of thumb: above 5.0 %"; a threshold is crossed from the side of the measured value. */
function measuredText({ measured, threshold, isRuleOfThumb, unit }: Evidence): string {
  const text = `measured ${formatValue(measured, unit)}`;
  // A threshold of 0 is no rule: any amount is a finding.
  if (measured === null || threshold === null || threshold === 0) return text;
  const side = measured < threshold ? "below" : "above";
  return `${text}, ${isRuleOfThumb ? "rule of thumb" : "threshold"}: ${side} ${formatValue(threshold, unit)}`;
}
