/** The page component of every view; other views get the generic page. */
import { createElement, type ComponentType, type ReactElement } from "react";

import { ComparePage } from "./ComparePage";
import { CopiesPage } from "./CopiesPage";
import { CriticalPathPage } from "./CriticalPathPage";
import { DataPage } from "./DataPage";
import { DistributedPage } from "./DistributedPage";
import { EfficiencyPage } from "./EfficiencyPage";
import { ExpertsPage } from "./ExpertsPage";
import { GenericPage } from "./GenericPage";
import { GroupsPage } from "./GroupsPage";
import { HangPage } from "./HangPage";
import { IdlePage } from "./IdlePage";
import { IterationsPage } from "./IterationsPage";
import { KernelsPage } from "./KernelsPage";
import { MemoryPage } from "./MemoryPage";
import { ModulesPage } from "./ModulesPage";
import { OperatorsPage } from "./OperatorsPage";
import { OperatorTypesPage } from "./OperatorTypesPage";
import { OverviewPage } from "./OverviewPage";
import { PhasesPage } from "./PhasesPage";
import { RanksPage } from "./RanksPage";
import { ResourcesPage } from "./ResourcesPage";
import { RolesPage } from "./RolesPage";
import { SequencesPage } from "./SequencesPage";
import { ShapesPage } from "./ShapesPage";
import { SnapshotPage } from "./SnapshotPage";
import { SqlPage } from "./SqlPage";
import { StrategyPage } from "./StrategyPage";
import { TimelinePage } from "./TimelinePage";
import type { PageProps } from "./ViewFrame";

const PAGES: Readonly<Record<string, ComponentType<PageProps>>> = {
  overview: OverviewPage,
  iterations: IterationsPage,
  phases: PhasesPage,
  critical_path: CriticalPathPage,
  data: DataPage,
  operators: OperatorsPage,
  operator_types: OperatorTypesPage,
  shapes: ShapesPage,
  kernels: KernelsPage,
  hang: HangPage,
  idle: IdlePage,
  sequences: SequencesPage,
  copies: CopiesPage,
  memory: MemoryPage,
  snapshot: SnapshotPage,
  modules: ModulesPage,
  groups: GroupsPage,
  ranks: RanksPage,
  distributed: DistributedPage,
  strategy: StrategyPage,
  experts: ExpertsPage,
  roles: RolesPage,
  efficiency: EfficiencyPage,
  resources: ResourcesPage,
  compare: ComparePage,
  timeline: TimelinePage,
  sql: SqlPage,
};

export function renderPage(props: PageProps): ReactElement {
  const { name } = props.info;
  return createElement(PAGES[name] ?? GenericPage, { key: name, ...props });
}
