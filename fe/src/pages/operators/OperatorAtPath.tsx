/** The detail of an operator at its path in the call tree: the path, and its device work. */
import { visibleText } from "../../lib/visibleText";
import { CopyButton } from "../../ui/CopyButton";
import type { ViewContext } from "../ViewFrame";
import { OperatorWork } from "./OperatorWork";

interface Props {
  readonly context: ViewContext;
  /** Id of the operator at this path. */
  readonly operatorId: string;
  readonly path: string;
}

export function OperatorAtPath({ context, operatorId, path }: Props) {
  return (
    <>
      <p className="full-name">
        {visibleText(path)} <CopyButton text={path} />
      </p>
      {context.hasView("kernels") && <OperatorWork context={context} params={{ operator_id: operatorId }} owner={path} />}
    </>
  );
}
