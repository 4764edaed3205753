/** Which component shows which view. A view without one of its own gets the generic page. */
import { createElement, type ComponentType, type ReactElement } from "react";

import { ComparePage } from "./ComparePage";
import { DistributedPage } from "./DistributedPage";
import { GenericPage } from "./GenericPage";
import { IterationsPage } from "./IterationsPage";
import { KernelsPage } from "./KernelsPage";
import { MemoryPage } from "./MemoryPage";
import { ModulesPage } from "./ModulesPage";
import { OperatorsPage } from "./OperatorsPage";
import { OverviewPage } from "./OverviewPage";
import { TimelinePage } from "../timeline/TimelinePage";
import type { PageProps } from "./ViewFrame";

const PAGES: Readonly<Record<string, ComponentType<PageProps>>> = {
  overview: OverviewPage,
  iterations: IterationsPage,
  operators: OperatorsPage,
  kernels: KernelsPage,
  memory: MemoryPage,
  modules: ModulesPage,
  distributed: DistributedPage,
  compare: ComparePage,
  timeline: TimelinePage,
};

export function renderPage(props: PageProps): ReactElement {
  const { name } = props.info;
  return createElement(PAGES[name] ?? GenericPage, { key: name, ...props });
}
