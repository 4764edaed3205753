/** How much of the work that could run on Tensor Cores does, and what the other operators take. */
import type { Fact, Table } from "../../api/types";
import { ShareCard } from "../../chart/ShareCard";
import { formatValue } from "../../lib/format";
import { classParts, matrixUnit, wholeOf } from "./categories";
import { PartsNote } from "./PartsNote";

interface Props {
  /** The operators by their Tensor Core use. */
  readonly classes: Table;
  readonly efficiency: Fact;
  readonly fileName: string;
}

export function TensorCorePanel({ classes, efficiency, fileName }: Props) {
  return (
    <div data-table="operator_classes_share">
      <ShareCard
        title={`${matrixUnit(classes)} use`}
        help={classes.help}
        parts={classParts(classes)}
        totalUs={wholeOf(classes)}
        nullReason={classes.null_reasons["gpu_time_us"] ?? "Does not apply here."}
        fileName={fileName}
        head={
          <p className="panel-head" title={efficiency.help}>
            <b data-fact={efficiency.key}>{formatValue(efficiency.value, efficiency.unit)}</b>
            <span className="soft">{efficiency.value === null ? (efficiency.reason ?? "Unknown.") : "of the kernel time of operators that could use them"}</span>
          </p>
        }
        note={<PartsNote table={classes} measure="gpu_time_us" />}
      />
    </div>
  );
}
