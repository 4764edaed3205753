/** Parts of the trace that were given a name: kept in the address, to switch between. */
import { useState } from "react";

import { shortenMiddle } from "../../lib/shorten";
import { visibleText } from "../../lib/visibleText";
import type { Params } from "../../state/address";
import {
  AGGREGATIONS_KEY,
  currentPart,
  formatAggregations,
  isCurrent,
  parseAggregations,
  renamed,
  withAggregation,
  type Aggregation,
} from "../../state/aggregations";
import { cutText } from "../../state/iterationsBy";
import { NO_TIME } from "../../state/selection";
import { adjust, navigate, useParams } from "../../state/urlStore";

const CUT_CHARACTERS = 32;

export function Aggregations() {
  const params = useParams();
  const all = parseAggregations(params[AGGREGATIONS_KEY]);
  const [editing, setEditing] = useState<string | null>(null);
  const keep = (next: readonly Aggregation[]) => adjust({ [AGGREGATIONS_KEY]: formatAggregations(next) });
  return (
    <section className="card aggregations no-print" aria-label="Named aggregations">
      <header>
        <h2 title="What cuts the trace and which iterations are selected, under a name of yours. They stand in the address: who gets the link has them too.">Named aggregations</h2>
        {all.length === 0 && <span className="soft">Keep what is selected now under a name, to come back to it.</span>}
        <span style={{ flex: 1 }} />
        <NameForm key={all.length} label="Keep the selection as" button="Keep" name="" onName={(name) => keep(withAggregation(all, { name, ...currentPart(params) }))} />
      </header>
      {all.length > 0 && (
        <ul>
          {all.map((each) => (
            <li key={each.name}>
              {editing === each.name ? (
                <NameForm
                  label={`Another name for ${visibleText(each.name)}`}
                  button="Rename"
                  name={each.name}
                  focus
                  onName={(name) => {
                    keep(renamed(all, each.name, name));
                    setEditing(null);
                  }}
                  onCancel={() => setEditing(null)}
                />
              ) : (
                <Entry aggregation={each} params={params} onEdit={() => setEditing(each.name)} onRemove={() => keep(all.filter((other) => other !== each))} />
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

interface EntryProps {
  readonly aggregation: Aggregation;
  readonly params: Params;
  readonly onEdit: () => void;
  readonly onRemove: () => void;
}

function Entry({ aggregation, params, onEdit, onRemove }: EntryProps) {
  const { name, cut, steps } = aggregation;
  const shown = visibleText(name);
  const by = cutText(cut ?? undefined) ?? "Steps";
  const take = () => navigate({ ...NO_TIME, iterations_by: cut, steps, iteration: null, operator_id: null });
  return (
    <>
      <button type="button" className="button" aria-pressed={isCurrent(aggregation, params)} onClick={take}>
        {shown}
      </button>
      <span className="soft" title={visibleText(by)}>
        {shortenMiddle(visibleText(by), CUT_CHARACTERS)}, {steps === null ? "all" : visibleText(steps)}
      </span>
      <button type="button" className="button quiet" aria-label={`Rename ${shown}`} onClick={onEdit}>
        Rename
      </button>
      <button type="button" className="button quiet" aria-label={`Remove ${shown}`} onClick={onRemove}>
        Remove
      </button>
    </>
  );
}

interface FormProps {
  readonly label: string;
  readonly button: string;
  readonly name: string;
  readonly focus?: boolean;
  readonly onName: (name: string) => void;
  readonly onCancel?: () => void;
}

function NameForm({ label, button, name, focus = false, onName, onCancel }: FormProps) {
  const [typed, setTyped] = useState(name);
  return (
    <form
      className="aggregation-name"
      onSubmit={(event) => {
        event.preventDefault();
        onName(typed);
      }}
      onKeyDown={({ key }) => {
        if (key === "Escape") onCancel?.();
      }}
    >
      <input className="field" aria-label={label} placeholder="a name" autoFocus={focus} value={typed} onChange={({ target }) => setTyped(target.value)} />
      <button type="submit" className="button" disabled={typed.trim() === ""}>
        {button}
      </button>
    </form>
  );
}
