/** Selections saved under a name in the address, to switch between. */
import { useState } from "react";

import { shortenMiddle } from "../../lib/shorten";
import { visibleText } from "../../lib/visibleText";
import type { Params } from "../../state/address";
import { iterationsByText } from "../../state/iterationsBy";
import {
  SAVED_SELECTIONS_KEY,
  currentSelection,
  formatSavedSelections,
  isCurrent,
  parseSavedSelections,
  renameSelection,
  addSelection,
  type SavedSelection,
} from "../../state/savedSelections";
import { NO_TIME } from "../../state/selection";
import { adjust, navigate, useParams } from "../../state/urlStore";

const MAX_CHARACTERS = 32;

export function SavedSelections() {
  const params = useParams();
  const all = parseSavedSelections(params[SAVED_SELECTIONS_KEY]);
  const [editing, setEditing] = useState<string | null>(null);
  const save = (next: readonly SavedSelection[]) => adjust({ [SAVED_SELECTIONS_KEY]: formatSavedSelections(next) });
  return (
    <section className="card aggregations no-print" aria-label="Saved selections">
      <header>
        <h2 title="How the trace is split and which iterations are selected, saved under a name. They are in the address: a shared link includes them.">Saved selections</h2>
        {all.length === 0 && <span className="soft">Save the current selection under a name to return to it later.</span>}
        <span style={{ flex: 1 }} />
        <NameForm key={all.length} label="Save the selection as" button="Save" name="" onName={(name) => save(addSelection(all, { name, ...currentSelection(params) }))} />
      </header>
      {all.length > 0 && (
        <ul>
          {all.map((each) => (
            <li key={each.name}>
              {editing === each.name ? (
                <NameForm
                  label={`New name for ${visibleText(each.name)}`}
                  button="Rename"
                  name={each.name}
                  focus
                  onName={(name) => {
                    save(renameSelection(all, each.name, name));
                    setEditing(null);
                  }}
                  onCancel={() => setEditing(null)}
                />
              ) : (
                <Entry selection={each} params={params} onEdit={() => setEditing(each.name)} onRemove={() => save(all.filter((other) => other !== each))} />
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

interface EntryProps {
  readonly selection: SavedSelection;
  readonly params: Params;
  readonly onEdit: () => void;
  readonly onRemove: () => void;
}

function Entry({ selection, params, onEdit, onRemove }: EntryProps) {
  const { name, iterationsBy, steps } = selection;
  const shown = visibleText(name);
  const by = iterationsByText(iterationsBy ?? undefined) ?? "Steps";
  const select = () => navigate({ ...NO_TIME, iterations_by: iterationsBy, steps, iteration: null, operator_id: null });
  return (
    <>
      <button type="button" className="button" aria-pressed={isCurrent(selection, params)} onClick={select}>
        {shown}
      </button>
      <span className="soft" title={visibleText(by)}>
        {shortenMiddle(visibleText(by), MAX_CHARACTERS)}, {steps === null ? "all" : visibleText(steps)}
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
