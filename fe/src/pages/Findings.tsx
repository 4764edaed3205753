/** The findings, worst first: each with its gain, a link to the worst occurrence, one to the rows, and the reasons. */
import { useMemo, useState } from "react";

import type { Note } from "../api/types";
import { readEvidence, type Evidence } from "../lib/evidence";
import { findingMarkdown } from "../lib/findingMarkdown";
import { formatValue } from "../lib/format";
import { visibleText } from "../lib/visibleText";
import { useOpenInAddress } from "../state/openIds";
import { useProfileNames } from "../state/profile";
import { DataTable } from "../table/DataTable";
import { ShowRangeOnTimeline } from "../timeline/ShowOnTimeline";
import { CopyButton } from "../ui/CopyButton";
import { HelpLink } from "../ui/HelpLink";
import { ViewLink } from "../ui/ViewLink";
import { worstFirst } from "./QualityNotes";
import { requestReveal } from "./reveal";

/** Findings shown at once; the others on demand. */
const SHOWN_FINDINGS = 3;

/** What links to the card call it. */
export const FINDINGS = "findings";

interface Props {
  readonly notes: readonly Note[];
  /** Whether the card is shown without findings too. */
  readonly always: boolean;
  /** Whether the checks are still being computed. */
  readonly pending?: boolean;
}

export function Findings({ notes, always, pending = false }: Props) {
  const [all, setAll] = useState(false);
  // Room for the findings from the start: what is below does not move when they arrive.
  const [isReserved] = useState(pending);
  const { isOpen, setOpen } = useOpenInAddress("findings.open");
  const advice = worstFirst(notes.filter((note) => note.kind === "advice"));
  if (advice.length === 0 && !always) return null;
  const more = advice.length - SHOWN_FINDINGS;
  // An open finding of a link is never hidden.
  const isAll = all || advice.slice(SHOWN_FINDINGS).some(({ code }) => isOpen(code));
  return (
    <section className={isReserved ? "card reserved-findings" : "card"} aria-label="Findings" data-table={FINDINGS}>
      <header>
        <h2>Findings</h2>
        {advice.length > 1 && (
          <span className="soft" title="Sorted by estimated gain, or by the time involved where no gain can be estimated. File problems come first.">
            largest first
          </span>
        )}
      </header>
      {advice.length === 0 ? (
        <p className="body soft" role="status">
          {pending ? "The checks are still running. Their findings will appear here; everything below is complete." : "No check found an issue in this selection."}
        </p>
      ) : (
        <ol className="findings">
          {(isAll ? advice : advice.slice(0, SHOWN_FINDINGS)).map((note, index) => (
            <Finding key={`${note.code} ${index}`} note={note} rank={index + 1} open={isOpen(note.code)} onOpen={(open) => setOpen(note.code, open)} />
          ))}
        </ol>
      )}
      {more > 0 && (
        <p className="more-findings no-print">
          <button type="button" className="frame-link" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
            {isAll ? `Only the first ${SHOWN_FINDINGS}` : `${more} more ${more === 1 ? "finding" : "findings"}`}
          </button>
        </p>
      )}
    </section>
  );
}

interface FindingProps {
  readonly note: Note;
  readonly rank: number;
  readonly open: boolean;
  readonly onOpen: (open: boolean) => void;
}

function Finding({ note, rank, open, onOpen }: FindingProps) {
  const evidence = useMemo(() => readEvidence(note), [note]);
  const names = useProfileNames();
  return (
    <li>
      <span className={`finding-mark ${note.severity}`} title={note.severity === "warning" ? "Worth acting on" : "Worth knowing"}>
        {rank}
      </span>
      <div>
        <h3>{evidence.title ?? note.code}</h3>
        <p className={open ? "finding-text" : "finding-text clamped"}>{visibleText(note.text)}</p>
        <p className="finding-actions">
          {evidence.timeline !== null && <ShowRangeOnTimeline range={evidence.timeline} />}
          {evidence.source !== null && (
            <ViewLink view={evidence.source.view} params={evidence.source.params} onGo={requestReveal} className="button" title="The rows that it is about, in their table">
              Which rows
            </ViewLink>
          )}
          <button type="button" className="button" aria-expanded={open} title="The evidence, how it was measured, and where to read on" onClick={() => onOpen(!open)}>
            Why
          </button>
          <CopyButton title="Copy this finding as Markdown, for an issue or a pull request" text={findingMarkdown(note, names)} />
        </p>
        {open && <Reasons evidence={evidence} />}
      </div>
      <Gain evidence={evidence} />
      {open && evidence.rows !== null && <EvidenceRows code={note.code} rows={evidence.rows} />}
    </li>
  );
}

function EvidenceRows({ code, rows }: { readonly code: string; readonly rows: NonNullable<Evidence["rows"]> }) {
  const names = useProfileNames();
  return (
    <div className="rows">
      <DataTable name={`evidence ${code}`} table={rows} source={null} fileName={["evidence", code, ...names].join("_")} maxHeight="300px" />
    </div>
  );
}

function Reasons({ evidence }: { readonly evidence: Evidence }) {
  return (
    <>
      <p className="evidence">
        {evidence.measured !== null && <span>{measuredText(evidence)}</span>}
        {evidence.architecture !== null && <span>on {evidence.architecture}</span>}
        {evidence.gainUsPerStep === null && evidence.gainReason !== null && <span>{visibleText(evidence.gainReason)}</span>}
        {evidence.helpUrl !== null && (
          <span>
            More: <HelpLink address={evidence.helpUrl}>documentation</HelpLink>
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
    </>
  );
}

function Gain({ evidence: { gainUsPerStep, gainPctOfStep, gainReason } }: { readonly evidence: Evidence }) {
  if (gainUsPerStep === null || gainUsPerStep <= 0) return gainReason === null ? <span /> : <p className="finding-gain" title={visibleText(gainReason)}><small>not estimated</small></p>;
  return (
    <p className="finding-gain" title="Estimated upper bound of the time saved per step">
      <b>{formatValue(gainUsPerStep, "us")}</b>
      <br />
      <small>{gainPctOfStep === null ? "per step" : `${formatValue(gainPctOfStep, "pct")} of the step`}, est. gain</small>
      {gainReason !== null && <small className="gain-reason">{visibleText(gainReason)}</small>}
    </p>
  );
}

/** "Measured 33.4 %, rule of thumb: above 5.0 %"; a threshold is crossed from the side of the measured value. */
function measuredText({ measured, threshold, isRuleOfThumb, unit }: Evidence): string {
  const text = `Measured ${formatValue(measured, unit)}`;
  // A threshold of 0 is no rule: any amount is a finding.
  if (measured === null || threshold === null || threshold === 0) return text;
  const side = measured < threshold ? "below" : "above";
  return `${text}, ${isRuleOfThumb ? "rule of thumb" : "threshold"}: ${side} ${formatValue(threshold, unit)}`;
}
