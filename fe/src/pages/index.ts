/** Which component shows which view. A view without one of its own gets the generic page. */
import type { ComponentType } from "react";

import { GenericPage } from "./GenericPage";
import { KernelsPage } from "./KernelsPage";
import { OperatorsPage } from "./OperatorsPage";
import { OverviewPage } from "./OverviewPage";
import type { PageProps } from "./ViewFrame";

const PAGES: Readonly<Record<string, ComponentType<PageProps>>> = {
  overview: OverviewPage,
  operators: OperatorsPage,
  kernels: KernelsPage,
};

export function pageOf(view: string): ComponentType<PageProps> {
  return PAGES[view] ?? GenericPage;
}
