/** Which ranks are drawn as bands, and saving them as one file. */
import { useState } from "react";

import { apiUrl } from "../api/client";
import { useAnswer } from "../api/hooks";
import type { TimelineClocksAnswer } from "../generated/schema";
import { saveUrl } from "../lib/download";
import { formatNumber } from "../lib/format";
import { visibleText } from "../lib/visibleText";
import { selectionQuery } from "../state/selection";
import { navigate, useParams } from "../state/urlStore";
import { formatStack } from "./link";
import { ALL_RANKS, chosenRanks, formatRanks, onePerNode } from "./rankChoice";
import type { Recording } from "./secondRecording";

/** Groups of the worker of the page that are offered. */
const MAX_GROUPS = 6;

export function RanksForm({ own, onDone }: { readonly own: Recording; readonly onDone: () => void }) {
  const params = useParams();
  const shown = params["ranks"] ?? "";
  const [text, setText] = useState(shown);
  const trace = { run: own.run, worker: own.worker, span: own.span };
  const clocks = useAnswer<TimelineClocksAnswer>("timeline/clocks", trace, { ...trace, worker: null });
  const { workers, groups } = clocks.state === "ready" ? clocks.data : { workers: [], groups: [] };
  const { chosen, unknown } = chosenRanks(text, workers);
  const perNode = onePerNode(workers);
  const namesOf = (names: Iterable<string>) => formatRanks(new Set(names), workers);
  // Times on screen count from the earliest rank: they change meaning with the ranks.
  const apply = (ranks: string) => {
    navigate({ ranks: ranks === "" ? null : ranks, on: null, slice: null, at: null, range: null, pin: null, order: null });
    onDone();
  };
  const open = () => {
    const names = chosen.map(({ worker }) => worker).filter((name) => name !== own.worker);
    navigate({ stack: formatStack(names), on: null, slice: null, at: null, range: null, open: null, shut: null, pin: null, order: null });
    onDone();
  };
  const save = () => saveUrl(`${own.run}_${chosen.length}_ranks.json`, apiUrl("perfetto", { ...trace, ...selectionQuery(params), workers: text }));
  const isUsable = chosen.length > 0 && unknown.length === 0;
  return (
    <form
      className="menu tl-ranks"
      onSubmit={(event) => {
        event.preventDefault();
        apply(text.trim());
      }}
    >
      <strong>Ranks, a band each or with all tracks</strong>
      <input className="field" placeholder="0-63, 70 or all" aria-label="Ranks" value={text} onChange={({ target }) => setText(target.value)} />
      <span className="tl-stack-buttons">
        <button type="button" className="button" onClick={() => setText(ALL_RANKS)}>
          All
        </button>
        {perNode.size > 1 && perNode.size < workers.length && (
          <button type="button" className="button" onClick={() => setText(namesOf(perNode))}>
            One per machine
          </button>
        )}
        {groups.slice(0, MAX_GROUPS).map(({ label, workers: members }) => (
          <button key={label} type="button" className="button" title="Members of this process group" onClick={() => setText(namesOf(members))}>
            {visibleText(label.slice(0, 24))} ({formatNumber(members.length)})
          </button>
        ))}
      </span>
      <small className="soft" role="status">
        {clocks.state === "failed" ? clocks.failure.message : clocks.state !== "ready" ? "Aligning the clocks …" : choiceText(chosen.length, workers.length, unknown)}
      </small>
      <span className="tl-stack-buttons">
        <button type="submit" className="button" disabled={!isUsable}>
          Show
        </button>
        <button type="button" className="button" disabled={!isUsable} title="Each is a recording that the server reads" onClick={open}>
          With all tracks
        </button>
        <button type="button" className="button" disabled={shown === ""} onClick={() => apply("")}>
          Hide
        </button>
        <button type="button" className="button" disabled={!isUsable} title="Chrome JSON of the selection: a process per rank, all on one clock" onClick={save}>
          Save merged trace
        </button>
      </span>
    </form>
  );
}

function choiceText(chosen: number, all: number, unknown: readonly string[]): string {
  if (unknown.length > 0) return `No recording of rank ${unknown.join(", ").slice(0, 60)} is loaded.`;
  return `${formatNumber(chosen)} of ${formatNumber(all)} ranks: a band each says when it computed and communicated.`;
}
