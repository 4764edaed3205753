/** Short names for the JSON of the server; the declarations are generated from the Python ones. */
export type {
  AboutAnswer as About,
  ColumnPayload as Column,
  ColumnSum,
  ColumnType,
  ErrorPayload as Failure,
  FactPayload as Fact,
  LeftOutPayload as LeftOutFile,
  LinePayload as Line,
  NotePayload as Note,
  OpenAnswer as Opened,
  PendingAnswer as Pending,
  RunPayload as Run,
  RunsAnswer as Runs,
  Scalar,
  SeriesPayload as Series,
  SpanPayload as Span,
  TablePayload as Table,
  Unit,
  ViewAnswer as View,
  ViewEntryPayload as ViewInfo,
  ViewsAnswer as Views,
  WorkerPayload as Worker,
} from "../generated/schema";

import type { Scalar } from "../generated/schema";

/** A row as the server sends it, in the order of the columns. */
export type Row = readonly Scalar[];
