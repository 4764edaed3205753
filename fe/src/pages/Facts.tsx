/** Single numbers with their meaning. */
import type { Fact, Note } from "../api/types";
import { exactValue, formatValue } from "../lib/format";
import { NoteMark, notedKeys } from "../app/noteMarks";

/** The few that come first, large. */
export function BigFacts({ facts, notes }: { readonly facts: readonly Fact[]; readonly notes: readonly Note[] }) {
  if (facts.length === 0) return null;
  const noted = notedKeys(notes);
  return (
    <div className="big-facts">
      {facts.map((fact) => (
        <div key={`${fact.key} ${fact.scope ?? ""}`} title={factTitle(fact)}>
          <b data-fact={fact.key} data-scope={fact.scope ?? undefined}>
            {factValue(fact)}
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
          {facts.map((fact) => (
            <div key={`${fact.key} ${fact.scope ?? ""}`} style={{ display: "contents" }} title={factTitle(fact)}>
              <dt>{scopedTitle(fact)}</dt>
              <dd>{factValue(fact)}</dd>
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
function factValue({ key, value, unit }: Fact): string {
  const sign = key.startsWith("delta_") && typeof value === "number" && value > 0 ? "+" : "";
  return sign + formatValue(value, unit);
}

function factTitle(fact: Fact): string {
  const exact = fact.value === null ? (fact.reason ?? "Not known.") : exactValue(fact.value, fact.unit);
  return `${exact}\n${fact.help}`;
}
