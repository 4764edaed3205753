/** The system of the recording: name, machine, devices and versions; missing values have a reason. */
import type { Fact } from "../../api/types";
import { exactValue, formatValue, NO_VALUE } from "../../lib/format";
import { visibleText } from "../../lib/visibleText";
import type { Target } from "../../state/target";
import { systemFacts } from "./dashboardFacts";

interface Props {
  readonly target: Target;
  readonly facts: readonly Fact[];
}

export function System({ target, facts }: Props) {
  const names = [target.run.name, target.worker.name, target.span.name].filter((name) => name !== "");
  return (
    <section className="card" aria-label="System">
      <header>
        <h2>System</h2>
      </header>
      <div className="body">
        <dl className="facts">
          <dt>Profile</dt>
          <dd title={target.span.file}>{visibleText(names.join(" · "))}</dd>
          {systemFacts(facts).map((fact) => (
            <SystemFact key={`${fact.key} ${fact.scope ?? ""}`} fact={fact} />
          ))}
        </dl>
      </div>
    </section>
  );
}

function SystemFact({ fact }: { readonly fact: Fact }) {
  return (
    <div style={{ display: "contents" }} title={fact.value === null ? fact.help : `${exactValue(fact.value, fact.unit)}\n${fact.help}`}>
      <dt>{fact.scope === null ? fact.title : `${fact.title}, ${fact.scope}`}</dt>
      <dd>
        {fact.value === null ? (
          <>
            {NO_VALUE} <span className="soft">{fact.reason ?? "Unknown."}</span>
          </>
        ) : (
          visibleText(formatValue(fact.value, fact.unit))
        )}
      </dd>
    </div>
  );
}
