/** The trace, the selection, search, theme and help. */
import { useState, type ReactNode } from "react";

import type { Runs, ViewInfo } from "../api/types";
import type { Target } from "../state/target";
import { MoonIcon, SunIcon } from "../ui/icons";
import { chooseTheme, useTheme } from "../ui/theme";
import { HelpDialog } from "./HelpDialog";
import { ReportMenu } from "./ReportMenu";
import { SearchBox } from "./search/SearchBox";
import { SelectionControl } from "./SelectionControl";
import { TraceMenu } from "./TraceMenu";
import { TracePicker } from "./TracePicker";

interface Props {
  readonly runs: Runs | null;
  readonly target: Target | null;
  readonly view: ViewInfo | null;
  readonly views: readonly ViewInfo[];
  /** Whether another trace is being chosen. */
  readonly isChoosing: boolean;
  readonly onChoose: (isChoosing: boolean) => void;
  /** Comes first: on a narrow window the button that opens the pages. */
  readonly children: ReactNode;
}

export function TopBar({ runs, target, view, views, isChoosing, onChoose, children }: Props) {
  const theme = useTheme();
  const [helpOpen, setHelpOpen] = useState(false);
  const other = theme === "dark" ? "light" : "dark";
  const shown = target?.unknown === null ? target : null;
  return (
    <header className="topbar">
      {children}
      <span className="brand">PyTorch Profiler</span>
      {runs !== null && target !== null && (
        <TracePicker runs={runs} target={target} view={view} views={views} open={isChoosing} onOpen={() => onChoose(true)} onClose={() => onChoose(false)} />
      )}
      {shown !== null && <SelectionControl target={shown} />}
      <span className="spacer" />
      {shown !== null && <ReportMenu target={shown} view={view} views={views} />}
      {shown !== null && <TraceMenu target={shown} />}
      {shown !== null && <SearchBox target={shown} views={views} />}
      <button
        type="button"
        className="button quiet icon"
        title={`Switch to the ${other} theme`}
        aria-label={`Switch to the ${other} theme`}
        onClick={() => chooseTheme(other)}
      >
        {theme === "dark" ? <SunIcon /> : <MoonIcon />}
      </button>
      <button type="button" className="button quiet icon" title="Help and settings (?)" aria-label="Help and settings" onClick={() => setHelpOpen(true)}>
        ?
      </button>
      <HelpDialog open={helpOpen} onOpen={() => setHelpOpen(true)} onClose={() => setHelpOpen(false)} />
    </header>
  );
}
