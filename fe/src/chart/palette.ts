/** One colour per category, everywhere; other names get colours in a fixed order. */

/** Category key of the server → variable of `theme.css`. */
const CATEGORY_VARIABLES: Readonly<Record<string, string>> = {
  kernel: "--cat-kernel",
  memcpy: "--cat-memcpy",
  memset: "--cat-memset",
  communication: "--cat-communication",
  runtime: "--cat-runtime",
  dataloader: "--cat-dataloader",
  cpu_exec: "--cat-cpu-exec",
  other: "--cat-other",
  // Resources of the overview, by priority.
  tensor_core: "--cat-tensor-core",
  other_kernels: "--cat-kernel",
  memory: "--cat-memcpy",
  cpu: "--cat-cpu-exec",
  // Categories of other views have the colours of the related ones above.
  computation: "--cat-kernel",
  // Both at once: a hue between the two, with a distinct lightness.
  overlap: "--mark-overlap",
  transfer: "--cat-communication",
  // Waiting, unlike "other", is no work.
  wait: "--mark-wait",
  // Phases of a step, and the parts of the step trace.
  forward: "--cat-kernel",
  backward: "--mark-strong",
  optimizer: "--cat-cpu-exec",
  interval: "--cat-dataloader",
  tail: "--cat-cpu-exec",
  // Some formats merge phases or name them differently.
  forward_and_backward: "--cat-kernel",
  computing: "--cat-kernel",
  free: "--mark-wait",
  communication_hidden: "--mark-overlap",
  communication_exposed: "--cat-communication",
  exposed_communication: "--cat-communication",
  idle: "--mark-wait",
  communication_tail: "--cat-communication",
  // Causes of idle time, and the busy time.
  busy: "--cat-kernel",
  "launch_bound_(host)": "--cat-cpu-exec",
  synchronization: "--cat-runtime",
  data_loading: "--cat-dataloader",
  communication_of_others: "--cat-communication",
  kernel_to_kernel: "--cat-memcpy",
  launched_work_waits: "--mark-overlap",
  python_code: "--mark-strong",
  graph_capture: "--mark-weak",
  garbage_collection: "--cat-memset",
  nothing_launched: "--mark-wait",
  profiler: "--cat-other",
  baseline: "--mark-weak",
  candidate: "--mark-strong",
};

const ORDER = [
  "--cat-kernel",
  "--cat-dataloader",
  "--cat-cpu-exec",
  "--cat-communication",
  "--cat-memcpy",
  "--cat-runtime",
  "--cat-memset",
  "--cat-other",
];

/** "CPU Exec" and "cpu_exec_us" are one category. */
export function categoryKey(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_")
    .replace(/_(us|ns|bytes|pct)$/, "");
}

/** The CSS variable of a name; `index` chooses the colour of a name without a category. */
export function colorVariable(name: string, index = 0): string {
  return CATEGORY_VARIABLES[categoryKey(name)] ?? ORDER[index % ORDER.length] ?? "--cat-other";
}

/** The CSS variables of names in one chart: names without a category get colours that its categories do not use. */
export function colorVariables(names: readonly string[]): string[] {
  const known = names.map((name) => CATEGORY_VARIABLES[categoryKey(name)]);
  const unused = ORDER.filter((color) => !known.includes(color));
  let others = 0;
  return known.map((color) => color ?? unused[others++ % unused.length] ?? "--cat-other");
}
