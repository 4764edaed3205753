/** One colour per category, everywhere; other names get colours in a fixed order. */

/** Category as the server names it → variable of `theme.css`. */
const CATEGORY_VARIABLES: Readonly<Record<string, string>> = {
  kernel: "--cat-kernel",
  memcpy: "--cat-memcpy",
  memset: "--cat-memset",
  communication: "--cat-communication",
  runtime: "--cat-runtime",
  dataloader: "--cat-dataloader",
  cpu_exec: "--cat-cpu-exec",
  other: "--cat-other",
  // Resources: each moment belongs to the first of them that works.
  tensor_core: "--cat-tensor-core",
  other_kernels: "--cat-kernel",
  memory: "--cat-memcpy",
  cpu: "--cat-cpu-exec",
  // What these are made of elsewhere keeps the colour it has in the steps.
  computation: "--cat-kernel",
  // Both of them at once: between their colours, and of neither’s lightness.
  overlap: "--mark-overlap",
  transfer: "--cat-communication",
  // Nothing is done meanwhile; what is called other is something.
  wait: "--mark-wait",
  // Phases of a step, and the parts of its trace that are of them.
  forward: "--cat-kernel",
  backward: "--mark-strong",
  optimizer: "--cat-cpu-exec",
  interval: "--cat-dataloader",
  tail: "--cat-cpu-exec",
  // Files tell some of them together, or by other names.
  forward_and_backward: "--cat-kernel",
  computing: "--cat-kernel",
  free: "--mark-wait",
  communication_hidden: "--mark-overlap",
  communication_exposed: "--cat-communication",
  communication_tail: "--cat-communication",
  // Why a GPU runs nothing, beside the time in which it does.
  busy: "--cat-kernel",
  "launch_bound_(host)": "--cat-cpu-exec",
  synchronization: "--cat-runtime",
  data_loading: "--cat-dataloader",
  communication_of_others: "--cat-communication",
  kernel_to_kernel: "--cat-memcpy",
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

/** The CSS variable of a name; `index` decides for names that are no category. */
export function colorVariable(name: string, index = 0): string {
  return CATEGORY_VARIABLES[categoryKey(name)] ?? ORDER[index % ORDER.length] ?? "--cat-other";
}

/** The CSS variables of names that are drawn together: those that are no category get colours that no category of them has. */
export function colorVariables(names: readonly string[]): string[] {
  const own = names.map((name) => CATEGORY_VARIABLES[categoryKey(name)]);
  const free = ORDER.filter((color) => !own.includes(color));
  let others = 0;
  return own.map((color) => color ?? free[others++ % free.length] ?? "--cat-other");
}
