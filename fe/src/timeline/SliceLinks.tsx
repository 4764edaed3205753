/** The slices that a slice is linked to: its launch, its parent, its children. */
import type { LinkedPayload, SliceLinksPayload, SlicePayload } from "../generated/schema";
import { formatNumber } from "../lib/format";
import { namesOf, shownName } from "../lib/names";
import { shortenMiddle } from "../lib/shorten";
import { visibleText } from "../lib/visibleText";
import { useNameMode } from "../state/nameMode";
import { Fact } from "./PanelFrame";

/** Titles of the relations in `/slice`; a launch is listed on both its ends. */
const RELATIONS: readonly (readonly [keyof SliceLinksPayload, string])[] = [
  ["launch", "Launched by"],
  ["owner", "Operator"],
  ["launched", "Launches"],
  ["device_work", "Device work"],
  ["forward", "Forward"],
  ["backward", "Backward"],
  ["produced_by", "Inputs from"],
  ["read_by", "Outputs read by"],
  ["parent", "Inside"],
  ["frame", "Python frame"],
  ["children", "Contains"],
];
const SHOWN = 8;

export function SliceLinks({ detail, onGo }: { readonly detail: SlicePayload; readonly onGo: (id: number) => void }) {
  const related = RELATIONS.flatMap(([key, title]) => {
    const linked = detail.links[key];
    return linked.count === 0 ? [] : [{ title, linked }];
  });
  if (related.length === 0) return null;
  return (
    <dl className="facts">
      {related.map(({ title, linked }) => (
        <Fact key={title} title={title}>
          <SliceList linked={linked} onGo={onGo} />
        </Fact>
      ))}
    </dl>
  );
}

function SliceList({ linked, onGo }: { readonly linked: LinkedPayload; readonly onGo: (id: number) => void }) {
  const mode = useNameMode();
  return (
    <>
      {linked.slices.slice(0, SHOWN).map((slice) => (
        <div key={slice.id}>
          <button type="button" className="frame-link" title={visibleText(slice.name ?? "")} onClick={() => onGo(slice.id)}>
            {visibleText(shortenMiddle(shownName(namesOf(slice), mode), 60))}
          </button>
        </div>
      ))}
      {linked.count > SHOWN && <div className="soft">and {formatNumber(linked.count - Math.min(SHOWN, linked.slices.length))} more</div>}
    </>
  );
}
