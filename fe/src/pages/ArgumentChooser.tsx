/** A menu of the arguments that the events of a file have; chosen ones become columns of the tables. */
import { useEffect, useRef, useState } from "react";

import { ApiError } from "../api/client";
import { useAnswer } from "../api/hooks";
import type { ArgumentNamesAnswer } from "../generated/schema";
import { formatNumber } from "../lib/format";
import { visibleText } from "../lib/visibleText";
import { traceQuery, type Target } from "../state/target";
import { Popover } from "../ui/Popover";
import { describeArgument, listedArguments, readArguments } from "./argumentChoice";

export function ArgumentChooser({ target }: { readonly target: Target }) {
  return (
    <Popover label="Arguments" title="Show arguments of events as columns" align="left">
      {(close) => <Menu target={target} onDone={close} />}
    </Popover>
  );
}

interface MenuProps {
  readonly target: Target;
  readonly onDone: () => void;
}

function Menu({ target, onDone }: MenuProps) {
  const answer = useAnswer<ArgumentNamesAnswer>("arguments", traceQuery(target));
  if (answer.state === "failed") return <p className="soft">{visibleText(answer.failure.message)}</p>;
  if (answer.state !== "ready") {
    return (
      <p className="soft" role="status">
        Looking for arguments in the file …
      </p>
    );
  }
  const { data } = answer;
  if (!data.can_read) return <p className="soft">Arguments of this format are not read on request; those that it holds as columns are in the tables.</p>;
  if (data.problem !== null) return <p className="soft">{visibleText(data.problem.message)}</p>;
  if (data.arguments.length === 0) return <p className="soft">The events of this file have no arguments.</p>;
  return <Choice target={target} listing={data} onDone={onDone} />;
}

interface ChoiceProps extends MenuProps {
  readonly listing: ArgumentNamesAnswer;
}

function Choice({ target, listing, onDone }: ChoiceProps) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => new Set(listing.arguments.filter(({ is_read: isRead }) => isRead).map(({ name }) => name)));
  const [search, setSearch] = useState("");
  const [all, setAll] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const shown = listedArguments(listing.arguments, search, all);
  const menu = useRef<HTMLDivElement>(null);
  // The menu is long, and opens in the middle of a page: its button would be below the window.
  useEffect(() => {
    menu.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const toggle = (name: string) => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    setChosen(next);
  };
  const read = async () => {
    setProblem(null);
    try {
      await readArguments(target, [...chosen]);
      onDone();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setProblem(error.failure.message);
    }
  };
  return (
    <div className="menu argument-menu" ref={menu}>
      <input type="search" className="field" placeholder="Search the arguments" aria-label="Search the arguments" value={search} onChange={(event) => setSearch(event.target.value)} />
      <div className="argument-list">
        {shown.map((argument) => (
          <label key={argument.name}>
            <input type="checkbox" checked={chosen.has(argument.name)} onChange={() => toggle(argument.name)} />
            <span>{visibleText(argument.name)}</span>
            <small>{visibleText(describeArgument(argument))}</small>
          </label>
        ))}
        {shown.length === 0 && <small>No argument matches.</small>}
      </div>
      <label>
        <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} />
        <span>Also arguments that have columns of their own</span>
      </label>
      {listing.is_sample && <small>From a sample of {formatNumber(listing.slices)} events.</small>}
      <small>Reading them takes as long as opening the file did. They are read for everybody who looks at this trace.</small>
      {problem !== null && <p role="alert">{visibleText(problem)}</p>}
      <button type="button" className="button" onClick={() => void read()}>
        {chosen.size === 0 ? "Read none" : `Read ${formatNumber(chosen.size)} ${chosen.size === 1 ? "argument" : "arguments"}`}
      </button>
    </div>
  );
}
