/** The head of a page: its title and question, the tabs, and the answer in a sentence. */
import type { ReactNode } from "react";

import type { View, ViewInfo } from "../api/types";
import { visibleText } from "../lib/visibleText";
import { useParams } from "../state/urlStore";
import { MissingReasons } from "../ui/MissingReasons";
import { Popover } from "../ui/Popover";
import { Tabs } from "../ui/Tabs";
import { availableTabs, currentTab, hasData, missingReason, pageOf, tabParams } from "./pages";

interface Props {
  readonly info: ViewInfo;
  /** All views of the trace; none where only the title is known. */
  readonly views?: readonly ViewInfo[];
  /** The answer, null before it arrives. */
  readonly view?: View | null;
  readonly children?: ReactNode;
}

export function PageHead({ info, views = [], view = null, children }: Props) {
  const params = useParams();
  const page = pageOf(info);
  const shown = availableTabs(page, views);
  const missing = page.tabs.flatMap((tab) => {
    const reason = missingReason(tab, views);
    return reason === null ? [] : [{ title: tab.title, reason }];
  });
  const tabs = shown.map((tab) => ({
    id: tab.id,
    title: tab.title,
    view: tab.view,
    params: tabParams(tab),
    help: views.find(({ name }) => name === tab.view)?.help,
    isEmpty: view !== null && tab.view === info.name && !hasData(tab, view),
  }));
  return (
    <>
      <div className="page-head">
        <h1>{page.title}</h1>
        <span className="soft">{page.question}</span>
        <span style={{ flex: 1 }} />
        {children}
      </div>
      {page.tabs.length > 1 && shown.length > 0 && (
        <Tabs label={page.title} tabs={tabs} current={currentTab(page, info.name, params, view)?.id ?? ""}>
          {missing.length > 0 && (
            <Popover label={`${missing.length} more ${missing.length === 1 ? "needs" : "need"} data`} className="missing-data">
              {() => <MissingReasons missing={missing} />}
            </Popover>
          )}
        </Tabs>
      )}
      {view !== null && view.answer !== null && <p className="answer">{visibleText(view.answer)}</p>}
    </>
  );
}
