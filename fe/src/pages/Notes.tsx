/** Findings (advice, worst first) and what limits the numbers (quality). */
import type { Note, Unit } from "../api/types";
import { formatValue } from "../lib/format";
import { goToView, useParams, viewHref } from "../state/urlStore";

/** In the order the server ranks them, warnings before the rest. */
function worstFirst(notes: readonly Note[]): Note[] {
  const rank = (note: Note) => (note.severity === "warning" ? 0 : 1);
  return notes.toSorted((a, b) => rank(a) - rank(b));
}

export function Findings({ notes, always }: { readonly notes: readonly Note[]; readonly always: boolean }) {
  const advice = worstFirst(notes.filter((note) => note.kind === "advice"));
  if (advice.length === 0 && !always) return null;
  return (
    <section className="card" aria-label="Findings">
      <header>
        <h2>Findings</h2>
        <span className="soft">worst first</span>
      </header>
      {advice.length === 0 ? (
        <p className="body soft">No rule found anything to change in this selection.</p>
      ) : (
        <ol className="findings">
          {advice.map((note, index) => (
            <Finding key={`${note.code} ${index}`} note={note} place={index + 1} />
          ))}
        </ol>
      )}
    </section>
  );
}

function Finding({ note, place }: { readonly note: Note; readonly place: number }) {
  return (
    <li>
      <span className={`finding-mark ${note.severity}`} title={note.severity === "warning" ? "Costs time or memory" : "Worth knowing"}>
        {place}
      </span>
      <div>
        <p className="finding-text">{note.text}</p>
        <Evidence evidence={note.evidence} />
      </div>
      <EvidenceLink evidence={note.evidence} />
    </li>
  );
}

const NOT_SHOWN = new Set(["view", "table", "filter", "sort", "group_by", "columns", "rows", "links", "link"]);

function Evidence({ evidence }: { readonly evidence: Note["evidence"] }) {
  const parts = Object.entries(evidence).flatMap(([key, value]) => {
    if (NOT_SHOWN.has(key) || value === null || typeof value === "object") return [];
    return [`${evidenceTitle(key)} ${evidenceValue(key, value)}`];
  });
  if (parts.length === 0) return null;
  return (
    <p className="evidence">
      {parts.map((part, index) => (
        <span key={index}>{part}</span>
      ))}
    </p>
  );
}

const UNIT_SUFFIX = /_(us|ns|bytes|pct)(_per_step)?$/;

/** "estimated_gain_us_per_step" → "estimated gain per step". */
export function evidenceTitle(key: string): string {
  return key.replace(UNIT_SUFFIX, "$2").replaceAll("_", " ");
}

export function evidenceValue(key: string, value: unknown): string {
  const unit = (UNIT_SUFFIX.exec(key)?.[1] ?? null) as Unit | null;
  if (typeof value === "number" || typeof value === "string" || typeof value === "boolean") return formatValue(value, unit);
  return String(value);
}

/** Evidence may name the rows it speaks of: a view, and what to filter it by. */
function EvidenceLink({ evidence }: { readonly evidence: Note["evidence"] }) {
  const params = useParams();
  const text = (key: string) => (typeof evidence[key] === "string" ? evidence[key] : null);
  const view = text("view");
  if (view === null) return null;
  const table = text("table") ?? view;
  const extra: Record<string, string> = {};
  const put = (key: string, value: string | null) => {
    if (value !== null && value !== "") extra[key] = value;
  };
  put("group_by", text("group_by"));
  put(`${table}.filter`, text("filter"));
  put(`${table}.sort`, text("sort"));
  return (
    <a
      href={viewHref(params, view, extra)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        goToView(view, extra);
      }}
    >
      Show the rows
    </a>
  );
}

export function QualityNotes({ notes, always }: { readonly notes: readonly Note[]; readonly always: boolean }) {
  const quality = worstFirst(notes.filter((note) => note.kind === "quality"));
  if (quality.length === 0 && !always) return null;
  return (
    <section className="card" aria-label="Quality of the numbers">
      <header>
        <h2>Quality of the numbers</h2>
      </header>
      <div className="body">
        {quality.length === 0 ? (
          <p className="soft">Everything in the file was read and counted.</p>
        ) : (
          <ul className="notes">
            {quality.map((note, index) => (
              <li key={`${note.code} ${index}`} title={note.code}>
                <span aria-hidden="true">{note.severity === "warning" ? "⚠" : "·"}</span>
                <span>{note.text}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}
