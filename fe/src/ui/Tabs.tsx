/** The tabs of a page: links, as a tab is part of the address. */
import type { ReactNode } from "react";

import type { Params } from "../state/address";
import { goToView, navigate, useParams, viewHref, patchedHref } from "../state/urlStore";

export interface Tab {
  readonly id: string;
  readonly title: string;
  /** The view of the back end that it shows. */
  readonly view: string;
  /** What distinguishes it from other tabs of the same view, for example `tab`. */
  readonly params?: Params;
  /** Shown on hover. */
  readonly help?: string | undefined;
  /** Whether the selection has nothing for it. */
  readonly isEmpty?: boolean;
}

interface Props {
  /** The page, for screen readers. */
  readonly label: string;
  readonly tabs: readonly Tab[];
  /** The id of the shown tab. */
  readonly current: string;
  /** Behind the tabs. */
  readonly children?: ReactNode;
}

export function Tabs({ label, tabs, current, children }: Props) {
  const params = useParams();
  const shown = tabs.find(({ id }) => id === current);
  return (
    <nav className="tabs" aria-label={`${label}: tabs`}>
      <ul>
        {tabs.map((tab) => {
          // Within a view, its filters and sort orders stay.
          const patch = shown?.view === tab.view ? { ...cleared(tabs, tab.view), ...tab.params } : null;
          return (
            <li key={tab.id}>
              <a
                href={patch === null ? viewHref(params, tab.view, tab.params) : patchedHref(params, patch)}
                aria-current={tab.id === current ? "page" : undefined}
                className={tab.isEmpty === true ? "faint" : undefined}
                title={tab.isEmpty === true ? "No data in this selection." : tab.help}
                onClick={(event) => {
                  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
                  event.preventDefault();
                  if (tab.id === current) return; // no second entry for Back
                  if (patch === null) goToView(tab.view, tab.params);
                  else navigate(patch);
                }}
              >
                {tab.title}
              </a>
            </li>
          );
        })}
      </ul>
      {children}
    </nav>
  );
}

/** Clears what another tab of the view put into the address, and the table that a link named. */
function cleared(tabs: readonly Tab[], view: string): Record<string, null> {
  const keys = tabs.filter((tab) => tab.view === view).flatMap(({ params }) => Object.keys(params ?? {}));
  return Object.fromEntries(["table", ...keys].map((key) => [key, null]));
}
