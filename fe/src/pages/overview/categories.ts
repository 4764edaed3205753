/** Titles and colours of resources and classes. */
import type { Row, Scalar, Table } from "../../api/types";
import { colorVariable } from "../../chart/palette";
import type { SharePart } from "../../chart/ShareCard";
import { numberOf, textOf } from "../../lib/rows";

/** What a matrix unit of the devices is called, from the title of the column about their use: "Tensor Core", or "Cube" of Ascend. */
export function matrixUnit(table: Pick<Table, "columns">): string {
  const title = table.columns.find(({ key }) => key === "tensor_core_unknown_us")?.title;
  return title?.replace(/ Use Unknown$/, "") ?? "Tensor Core";
}

/** The same of several, from the help of the table: "kernels using Tensor Cores (matrix units), …". */
function matrixUnits(table: Pick<Table, "columns" | "help">): string {
  return /\bus(?:e|ing) ([^,(]*[^,( ])/.exec(table.help)?.[1] ?? `${matrixUnit(table)}s`;
}

const RESOURCE_TITLES: Readonly<Record<string, string>> = {
  other_kernels: "Other kernels",
  memory: "Memory",
  cpu: "CPU",
  other: "Other",
};

const CLASS_TITLES: Readonly<Record<string, string>> = {
  all: "All",
  eligible_not_using: "Eligible, unused",
  memory: "Copies and memsets",
  other: "Other",
};

function resourceTitle(table: Table, key: string): string {
  return key === "tensor_core" ? `${matrixUnit(table)} kernels` : (RESOURCE_TITLES[key] ?? key);
}

function classTitle(table: Table, key: string): string {
  return key === "using_tensor_cores" ? `Using ${matrixUnits(table)}` : (CLASS_TITLES[key] ?? key);
}

/** Classes have the colours of the corresponding resources. */
const CLASS_COLORS: Readonly<Record<string, string>> = {
  using_tensor_cores: "tensor_core",
  // As waiting: time that Tensor Cores could shorten.
  eligible_not_using: "wait",
  memory: "memory",
  other: "other_kernels",
};

export function resourceParts(table: Table): SharePart[] {
  return table.rows.map((row) => {
    const key = textOf(table, row, "category");
    return {
      name: resourceTitle(table, key),
      us: numberOf(table, row, "duration_us"),
      pct: numberOf(table, row, "pct"),
      color: colorVariable(key),
    };
  });
}

/** The time of all classes. */
export function wholeOf(table: Table): number | null {
  const [whole] = table.rows;
  return whole === undefined ? null : numberOf(table, whole, "gpu_time_us");
}

/** The parts of all device work, without the row of the total. */
export function classParts(table: Table): SharePart[] {
  return table.rows
    .filter((row) => textOf(table, row, "class") !== "all")
    .map((row) => {
      const key = textOf(table, row, "class");
      return {
        name: classTitle(table, key),
        us: numberOf(table, row, "gpu_time_us"),
        pct: numberOf(table, row, "gpu_time_pct"),
        color: colorVariable(CLASS_COLORS[key] ?? key),
      };
    });
}

/** Whether a picture of Tensor Core use has anything to draw: device work, on devices that have them. */
export function hasTensorCoreClasses(classes: Table | undefined): classes is Table {
  return classes !== undefined && (wholeOf(classes) ?? 0) > 0 && classParts(classes).filter(({ us }) => us !== null).length > 1;
}

/** A table with titles of classes instead of keys. */
export function withClassTitles(table: Table): Table {
  const index = table.columns.findIndex((column) => column.key === "class");
  const titled = (row: Row): Scalar[] => row.map((cell, at) => (at === index && typeof cell === "string" ? classTitle(table, cell) : cell));
  return { ...table, rows: table.rows.map(titled) };
}

/** The part of the time of other kernels that may be Tensor Core time; 0 when all kernels are classified. */
export function maybeTensorCoreUs(table: Table): number {
  return Math.max(0, ...table.rows.map((row) => numberOf(table, row, "tensor_core_unknown_us") ?? 0));
}
