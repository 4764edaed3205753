/** Panels of the overview: GPUs, Tensor Cores, resources, kernels by class, performance facts. */
import { ShareCard } from "../../chart/ShareCard";
import { FactList } from "../Facts";
import type { ViewContext } from "../ViewFrame";
import { classParts, hasTensorCoreClasses, resourceParts, wholeOf } from "./categories";
import { performanceFacts } from "./dashboardFacts";
import { GpuPanel } from "./GpuPanel";
import { PartsNote } from "./PartsNote";
import { TensorCorePanel } from "./TensorCorePanel";
import "./dashboard.css";

/** In the panel of Tensor Cores where there is one. */
const TENSOR_CORE_EFFICIENCY = "tensor_core_efficiency_pct";

export function Dashboard({ context }: { readonly context: ViewContext }) {
  const { view, fileName } = context;
  const { gpus, resources, kernel_classes: kernels, operator_classes: operators } = view.tables;
  const efficiency = view.facts.find(({ key }) => key === TENSOR_CORE_EFFICIENCY);
  const hasTensorCorePanel = efficiency !== undefined && hasTensorCoreClasses(operators);
  return (
    <div className="dashboard">
      <div className="panel-column">
        {gpus !== undefined && <GpuPanel gpus={gpus} facts={view.facts} />}
        {hasTensorCorePanel && <TensorCorePanel classes={operators} efficiency={efficiency} fileName={fileName("operator_classes")} />}
      </div>
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
      <FactList title="Performance" facts={performanceFacts(view.facts).filter(({ key }) => !hasTensorCorePanel || key !== TENSOR_CORE_EFFICIENCY)} />
    </div>
  );
}
