/** What the step waited for at each moment; and what it would be if something were faster. */
import { textOf } from "../lib/rows";
import { adjust, useParams } from "../state/urlStore";
import { Segmented } from "../ui/Segmented";
import { parseWhatIf, formatWhatIf, WAYS, WAY_TITLES, type WhatIf } from "./criticalPath/whatIf";
import { BigFacts } from "./Facts";
import { GenericBody } from "./GenericBody";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

/** Of the address: the change that is asked for. */
const KEY = "what_if";
const MOST_NAMES = 100;
const CLOSEST = "what_if_";

export function CriticalPathPage(props: PageProps) {
  const text = useParams()[KEY];
  return (
    <ViewFrame {...props} extra={{ [KEY]: text }}>
      {(context) => (
        <>
          <WhatIfCard context={context} asked={parseWhatIf(text)} />
          <GenericBody {...context} view={{ ...context.view, facts: context.view.facts.filter(({ key }) => !key.startsWith(CLOSEST)) }} />
        </>
      )}
    </ViewFrame>
  );
}

function WhatIfCard({ context: { view }, asked }: { readonly context: ViewContext; readonly asked: WhatIf | null }) {
  const table = view.tables["operators"];
  const names = [...new Set((table?.rows ?? []).slice(0, MOST_NAMES).map((row) => (table === undefined ? "" : textOf(table, row, "name"))))];
  const all = asked === null || names.includes(asked.name) ? names : [asked.name, ...names];
  if (all.length === 0) return null;
  const choose = (change: WhatIf | null) => adjust({ [KEY]: change === null ? null : formatWhatIf(change) });
  return (
    <section className="card" aria-label="What if">
      <header>
        <h2>What if</h2>
        <select
          className="field no-print"
          aria-label="Operator or kernel"
          style={{ maxWidth: "min(420px, 100%)" }}
          value={asked?.name ?? ""}
          onChange={({ target }) => choose(target.value === "" ? null : { name: target.value, way: asked?.way ?? "halve" })}
        >
          <option value="">choose an operator or kernel …</option>
          {all.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        {asked !== null && <Segmented label="Change" values={WAYS} value={asked.way} onPick={(way) => choose({ name: asked.name, way: WAYS.find((each) => each === way) ?? "halve" })} title={(way) => WAY_TITLES[WAYS.find((each) => each === way) ?? "halve"]} />}
      </header>
      {asked !== null && (
        <div className="body">
          <BigFacts facts={view.facts.filter(({ key }) => key.startsWith(CLOSEST))} notes={[]} />
        </div>
      )}
    </section>
  );
}
