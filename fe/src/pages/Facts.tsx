/** Single numbers with titles and helps. */
import type { Fact, Note } from "../api/types";
import { exactValue, formatValue, significanceText } from "../lib/format";
import { MissingReasons } from "../ui/MissingReasons";
import { NoteMark, notesByKey } from "../ui/noteMarks";
import { Popover } from "../ui/Popover";
import { shownFacts, type ShownFact } from "./shownFacts";

interface BigProps {
  readonly facts?: readonly Fact[];
  /** Instead of `facts`, when the page prepares their texts. */
  readonly shown?: readonly ShownFact[];
  readonly notes: readonly Note[];
}

/** The most important facts, in large type; those without a value are counted, with the reasons on a click. */
export function BigFacts({ facts = [], shown = shownFacts(facts), notes }: BigProps) {
  if (shown.length === 0) return null;
  const noteByKey = notesByKey(notes);
  const missing = shown.flatMap(({ fact, bounds }) => (fact.value === null && bounds === null ? [{ title: scopedTitle(fact), reason: fact.reason ?? "Unknown." }] : []));
  const known = shown.filter(({ fact, bounds }) => fact.value !== null || bounds !== null);
  return (
    <div className="big-facts">
      {known.map(({ fact, bounds: between }) => (
        <div key={`${fact.key} ${fact.scope ?? ""}`} title={factTitle(fact, between)}>
          <b data-fact={fact.key} data-scope={fact.scope ?? undefined}>
            {factValue(fact, between)}
          </b>
          <small>
            {scopedTitle(fact)}
            <Mark note={noteByKey.get(fact.key)} about={fact.title} />
          </small>
        </div>
      ))}
      {missing.length > 0 && (
        <Popover label={`${missing.length} ${missing.length === 1 ? "figure needs" : "figures need"} data this recording lacks`} className="frame-link">
          {() => <MissingReasons missing={missing} />}
        </Popover>
      )}
    </div>
  );
}

function Mark({ note, about }: { readonly note: Note | undefined; readonly about: string }) {
  return note === undefined ? null : <NoteMark note={note} about={about} />;
}

export function FactList({ facts, title }: { readonly facts: readonly Fact[]; readonly title: string }) {
  if (facts.length === 0) return null;
  return (
    <section className="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
      <div className="body">
        <dl className="facts">
          {shownFacts(facts).map(({ fact, bounds: between }) => (
            <div key={`${fact.key} ${fact.scope ?? ""}`} style={{ display: "contents" }} title={factTitle(fact, between)}>
              <dt>{scopedTitle(fact)}</dt>
              <dd>{factValue(fact, between)}</dd>
            </div>
          ))}
        </dl>
      </div>
    </section>
  );
}

function scopedTitle({ title, scope }: Fact): string {
  return scope === null || title.includes(scope) ? title : `${title}, ${scope}`;
}

/** The text of a fact; a change has a sign. */
function factValue({ key, value, unit }: Fact, between: ShownFact["bounds"]): string {
  if (between !== null) return between.text;
  if (key.startsWith("confidence_") && typeof value === "number") return significanceText(value);
  const sign = key.startsWith("delta_") && typeof value === "number" && value > 0 ? "+" : "";
  return sign + formatValue(value, unit);
}

function factTitle(fact: Fact, between: ShownFact["bounds"]): string {
  if (between !== null) return `${between.title}\n${fact.help}`;
  const exact = fact.value === null ? (fact.reason ?? "Unknown.") : exactValue(fact.value, fact.unit);
  return `${exact}\n${fact.help}`;
}
