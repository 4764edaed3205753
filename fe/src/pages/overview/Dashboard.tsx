/** Panels of the overview: GPUs, resources, kernels by class, performance facts. */
import type { Table } from "../../api/types";
import { ShareCard } from "../../chart/ShareCard";
import { formatValue } from "../../lib/format";
import { numberOf } from "../../lib/rows";
import { FactList } from "../Facts";
import type { ViewContext } from "../ViewFrame";
import { classParts, maybeTensorCoreUs, resourceParts } from "./categories";
import { performanceFacts } from "./dashboardFacts";
import { GpuPanel } from "./GpuPanel";
import "./dashboard.css";

export function Dashboard({ context }: { readonly context: ViewContext }) {
  const { view, fileName } = context;
  const { gpus, resources, kernel_classes: kernels } = view.tables;
  return (
    <div className="dashboard">
      {gpus !== undefined && <GpuPanel gpus={gpus} facts={view.facts} />}
      {resources !== undefined && (
        <div data-table="resources">
          <ShareCard
            title={resources.title}
            help={resources.help}
            parts={resourceParts(resources)}
            totalUs={resources.sums?.["duration_us"]?.all ?? null}
            nullReason={resources.null_reasons["duration_us"] ?? "Does not apply here."}
            fileName={fileName("resources")}
            note={<PartsNote table={resources} measure="duration_us" />}
          />
        </div>
      )}
      {kernels !== undefined && (
        <div data-table="kernel_classes_share">
          <ShareCard
            title="Kernel time by class"
            help={kernels.help}
            parts={classParts(kernels)}
            totalUs={wholeOf(kernels)}
            nullReason={kernels.null_reasons["gpu_time_us"] ?? "Does not apply here."}
            fileName={fileName("kernel_classes")}
            note={<PartsNote table={kernels} measure="gpu_time_us" />}
          />
        </div>
      )}
      <FactList title="Performance" facts={performanceFacts(view.facts)} />
    </div>
  );
}

function wholeOf(table: Table): number | null {
  const [whole] = table.rows;
  return whole === undefined ? null : numberOf(table, whole, "gpu_time_us");
}

/** Why some of the parts are unknown, or how much of one may belong to another. */
function PartsNote({ table, measure }: { readonly table: Table; readonly measure: string }) {
  const reason = table.null_reasons[measure];
  const maybeUs = maybeTensorCoreUs(table);
  return (
    <>
      {reason !== undefined && <p className="soft panel-note">{reason}</p>}
      {maybeUs > 0 && <p className="soft panel-note">{formatValue(maybeUs, "us")} of other kernels may be Tensor Core time: no rule classifies these kernels.</p>}
    </>
  );
}
