/** What to change, worst first: each with its number, its gain, its evidence and a way to the rows. */
import { useMemo, useState } from "react";

import type { Note, Table } from "../api/types";
import { readEvidence, type Evidence } from "../lib/evidence";
import { formatValue } from "../lib/format";
import { visibleText } from "../lib/visibleText";
import { DataTable } from "../table/DataTable";
import { SpotOnTimeline } from "../timeline/ShowOnTimeline";
import { ViewLink } from "../ui/ViewLink";
import { Checked } from "./Checked";
import { worstFirst } from "./QualityNotes";
import { askToReveal } from "./reveal";

/** As many as one reads; the others on demand. */
const FIRST = 5;

interface Props {
  readonly notes: readonly Note[];
  /** Whether it is said that there is nothing. */
  readonly always: boolean;
  /** What was looked for; of views that do not tell, nothing. */
  readonly checked?: Table | undefined;
}

export function Findings({ notes, always, checked }: Props) {
  const [all, setAll] = useState(false);
  const advice = worstFirst(notes.filter((note) => note.kind === "advice"));
  if (advice.length === 0 && !always) return null;
  return (
    <section className="card" aria-label="Findings">
      <header>
        <h2>Findings</h2>
        {advice.length > 1 && (
          <span className="soft" title="By estimated gain; where none can be estimated, by the time it is about. Damage of the recording comes before all.">
            largest first
          </span>
        )}
        <span style={{ flex: 1 }} />
        {advice.length > FIRST && (
          <button type="button" className="button" onClick={() => setAll(!all)}>
            {all ? `Only the first ${FIRST}` : `All ${advice.length}`}
          </button>
        )}
      </header>
      {advice.length === 0 ? (
        <p className="body soft">
          No rule found anything to change in this selection.
          {checked !== undefined && " Below stand the operators and kernels with most time."}
        </p>
      ) : (
        <ol className="findings">
          {(all ? advice : advice.slice(0, FIRST)).map((note, index) => (
            <Finding key={`${note.code} ${index}`} note={note} place={index + 1} />
          ))}
        </ol>
      )}
      {checked !== undefined && <Checked table={checked} />}
    </section>
  );
}

function Finding({ note, place }: { readonly note: Note; readonly place: number }) {
  const evidence = useMemo(() => readEvidence(note), [note]);
  const [open, setOpen] = useState(false);
  return (
    <li>
      <span className={`finding-mark ${note.severity}`} title={note.severity === "warning" ? "Worth acting on" : "Worth knowing"}>
        {place}
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
              <SpotOnTimeline spot={evidence.timeline} />
            </span>
          )}
          {evidence.source !== null && (
            <span>
              <ViewLink view={evidence.source.view} params={evidence.source.params} onGo={askToReveal}>
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
            Also of this time: {title !== null && <b>{title}. </b>}
            {visibleText(text)}
          </p>
        ))}
      </div>
      <Gain evidence={evidence} />
      {open && evidence.rows !== null && (
        <div className="rows">
          <DataTable name={`evidence ${note.code}`} table={evidence.rows} source={null} fileName={`evidence_${note.code}`} maxHeight="300px" />
        </div>
      )}
    </li>
  );
}

function Gain({ evidence: { gainUsPerStep, gainPctOfStep } }: { readonly evidence: Evidence }) {
  if (gainUsPerStep === null || gainUsPerStep <= 0) return <span />;
  return (
    <p className="finding-gain" title="Estimated: what the step would be shorter by, at most">
      <b>{formatValue(gainUsPerStep, "us")}</b>
      <br />
      <small>{gainPctOfStep === null ? "per step" : `${formatValue(gainPctOfStep, "pct")} of the step`}, est. gain</small>
    </p>
  );
}

function measuredText({ measured, threshold, thresholdIsOurs, unit }: Evidence): string {
  const text = `measured ${formatValue(measured, unit)}`;
  return threshold === null ? text : `${text}, threshold ${formatValue(threshold, unit)}${thresholdIsOurs ? " (ours)" : ""}`;
}
