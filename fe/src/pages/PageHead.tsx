/** The head of a page: its title and question, the tabs, and the answer in a sentence. */
import type { ReactNode } from "react";

import type { View, ViewInfo } from "../api/types";
import { visibleText } from "../lib/visibleText";
import { isSelected } from "../state/selection";
import { useParams } from "../state/urlStore";
import { MissingReasons } from "../ui/MissingReasons";
import { Popover } from "../ui/Popover";
import { Tabs } from "../ui/Tabs";
import { availableTabs, currentTab, hasData, missingReason, pageOf, showsAnswer, tabParams, type PageTab } from "./pages";

interface Props {
  readonly info: ViewInfo;
  /** All views of the trace; none where only the title is known. */
  readonly views?: readonly ViewInfo[];
  /** The answer, null before it arrives. */
  readonly view?: View | null;
  /** Choices that the answer follows from: above it, so that it pushes nothing down when it arrives. */
  readonly above?: ReactNode;
  readonly children?: ReactNode;
}

export function PageHead({ info, views = [], view = null, above, children }: Props) {
  const params = useParams();
  const page = pageOf(info);
  const current = currentTab(page, info.name, params, view);
  const isEmpty = (tab: PageTab) => view !== null && tab.view === info.name && !hasData(tab, view);
  // What the selection alone leaves empty stays, for the next selection.
  const isFolded = (tab: PageTab) => tab !== current && isEmpty(tab) && !isSelected(params);
  const available = availableTabs(page, views);
  const shown = available.filter((tab) => !isFolded(tab));
  const missing = page.tabs.flatMap((tab) => {
    const reason = missingReason(tab, views) ?? (available.includes(tab) && isFolded(tab) ? "This recording has none." : null);
    return reason === null ? [] : [{ title: tab.title, reason }];
  });
  const tabs = shown.map((tab) => ({
    id: tab.id,
    title: tab.title,
    view: tab.view,
    params: tabParams(tab),
    help: views.find(({ name }) => name === tab.view)?.help,
    isEmpty: isEmpty(tab),
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
        <Tabs label={page.title} tabs={tabs} current={current?.id ?? ""}>
          {missing.length > 0 && (
            <Popover label={`${missing.length} more ${missing.length === 1 ? "needs" : "need"} data`} className="missing-data">
              {() => <MissingReasons missing={missing} />}
            </Popover>
          )}
        </Tabs>
      )}
      {above}
      {view !== null && view.answer !== null && (current === undefined || showsAnswer(current, page, view)) && <p className="answer">{visibleText(view.answer)}</p>}
    </>
  );
}
