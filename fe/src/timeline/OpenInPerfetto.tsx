/** Opens the range in Perfetto's own page, after a popover that explains what that does. */
import { useState } from "react";

import { apiUrl, fetchBytes, type Query } from "../api/client";
import { saveUrl } from "../lib/download";
import { Popover } from "../ui/Popover";
import { ANSWER_MS, handOver, openPerfetto, type HandOver } from "./perfetto";

interface Props {
  /** The trace and the range to export, as parameters of `/perfetto`. */
  readonly query: Query;
  readonly title: string;
  readonly fileName: string;
}

type State = "idle" | "working" | "blocked" | "failed" | HandOver;

const MESSAGES: Readonly<Record<State, string>> = {
  idle: "",
  working: "Waiting for Perfetto's page …",
  handed: "The range is open in Perfetto's tab.",
  blocked: "The browser did not open a tab. Allow this page to open one, or download the range and open it there.",
  failed: "The server could not export the range. Try the download.",
  silent: `Perfetto's page did not answer within ${ANSWER_MS / 1000} s: it may be unreachable from this network. Download the range and open it elsewhere.`,
  closed: "Perfetto's tab was closed, or the browser isolates it from this page. Download the range and open it there.",
};

const NEEDS_DOWNLOAD: ReadonlySet<State> = new Set(["blocked", "failed", "silent", "closed"]);

export function OpenInPerfetto({ query, title, fileName }: Props) {
  const [state, setState] = useState<State>("idle");
  const url = apiUrl("perfetto", query);
  const onOpen = async () => {
    // Before any await: only the click itself may open a tab.
    const page = openPerfetto();
    if (page === null) {
      setState("blocked");
      return;
    }
    setState("working");
    try {
      setState(await handOver(page, { buffer: await fetchBytes(url), title, fileName }));
    } catch {
      setState("failed");
    }
  };
  return (
    <Popover label="Perfetto ▾" title="Open this range in Perfetto's own page">
      {() => (
        <div className="menu tl-perfetto">
          <p>Opens ui.perfetto.dev in a new tab and passes this range of the trace to it inside your browser. This tool uploads nothing.</p>
          <button type="button" className="button" disabled={state === "working"} onClick={() => void onOpen()}>
            Open in Perfetto
          </button>
          <p role="status">{MESSAGES[state]}</p>
          {NEEDS_DOWNLOAD.has(state) && (
            <button type="button" className="button" onClick={() => saveUrl(fileName, url)}>
              Download the range
            </button>
          )}
        </div>
      )}
    </Popover>
  );
}
