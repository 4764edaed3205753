/** Single numbers with their meaning. */
import type { Fact, Note } from "../api/types";
import { exactValue, formatValue } from "../lib/format";
import { NoteMark, notedKeys } from "../ui/noteMarks";
import { shownFacts, type ShownFact } from "./shownFacts";

interface BigProps {
  readonly facts?: readonly Fact[];
  /** Instead of `facts`, where a page knows better how they are shown. */
  readonly shown?: readonly ShownFact[];
  readonly notes: readonly Note[];
}

/** The few that come first, large. */
export function BigFacts({ facts = [], shown = shownFacts(facts), notes }: BigProps) {
  if (shown.length === 0) return null;
  const noted = notedKeys(notes);
  return (
    <div className="big-facts">
      {shown.map(({ fact, between }) => (
        <div key={`${fact.key} ${fact.scope ?? ""}`} title={factTitle(fact, between)}>
          <b data-fact={fact.key} data-scope={fact.scope ?? undefined}>
            {factValue(fact, between)}
          </b>
          <small>
            {scopedTitle(fact)}
            <Mark note={noted.get(fact.key)} about={fact.title} />
          </small>
        </div>
      ))}
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
          {shownFacts(facts).map(({ fact, between }) => (
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

/** A change carries its sign. */
function factValue({ key, value, unit }: Fact, between: ShownFact["between"]): string {
  if (between !== null) return between.text;
  const sign = key.startsWith("delta_") && typeof value === "number" && value > 0 ? "+" : "";
  return sign + formatValue(value, unit);
}

function factTitle(fact: Fact, between: ShownFact["between"]): string {
  if (between !== null) return `${between.title}\n${fact.help}`;
  const exact = fact.value === null ? (fact.reason ?? "Not known.") : exactValue(fact.value, fact.unit);
  return `${exact}\n${fact.help}`;
}
