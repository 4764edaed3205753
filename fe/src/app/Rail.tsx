/** The list of pages. Those without data are one line at its end, which opens the reasons. */
import { useState } from "react";

import type { ViewInfo } from "../api/types";
import { availableTabs, leadingTab, pageOf, pagesOf, tabParams, type Page } from "../pages/pages";
import { MissingReasons } from "../ui/MissingReasons";
import { ViewLink } from "../ui/ViewLink";

interface Props {
  readonly views: readonly ViewInfo[];
  /** The shown view. */
  readonly current: string;
  /** The view that the recording is about: its page opens with its tab. */
  readonly first: string;
}

export function Rail({ views, current, first }: Props) {
  const pages = pagesOf(views);
  const missing = pages.filter((page) => availableTabs(page, views).length === 0);
  const shown = views.find(({ name }) => name === current);
  const currentId = shown === undefined ? null : pageOf(shown).id;
  // While a trace is read no page has data: then all are listed, where they will be.
  const isWaiting = missing.length === pages.length;
  return (
    <nav className="rail" aria-label="Pages">
      <ul>
        {pages
          .filter((page) => isWaiting || !missing.includes(page))
          .map((page) => (
            <li key={page.id}>
              <Entry page={page} views={views} first={first} isCurrent={page.id === currentId} />
            </li>
          ))}
      </ul>
      {!isWaiting && missing.length > 0 && <Missing pages={missing} views={views} />}
    </nav>
  );
}

function Entry({ page, views, first, isCurrent }: Omit<Props, "current"> & { readonly page: Page; readonly isCurrent: boolean }) {
  const tab = leadingTab(page, views, first);
  if (tab === undefined) {
    return (
      <span className="missing" aria-disabled="true" tabIndex={0} title={reasonOf(page, views)}>
        {page.title}
      </span>
    );
  }
  // The default of a view needs no parameters.
  const isDefault = page.tabs.find(({ view }) => view === tab.view) === tab;
  return (
    <ViewLink view={tab.view} params={isDefault ? {} : tabParams(tab)} isCurrent={isCurrent} title={page.question}>
      {page.title}
    </ViewLink>
  );
}

function reasonOf({ tabs }: Page, views: readonly ViewInfo[]): string {
  return views.find(({ name }) => name === tabs[0]?.view)?.reason ?? "Nothing to show.";
}

function Missing({ pages, views }: { readonly pages: readonly Page[]; readonly views: readonly ViewInfo[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="rail-missing">
      <button type="button" className="missing-data" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {pages.length} more {pages.length === 1 ? "needs" : "need"} data this recording lacks
      </button>
      {isOpen && <MissingReasons missing={pages.map((page) => ({ title: page.title, reason: reasonOf(page, views) }))} />}
    </div>
  );
}
