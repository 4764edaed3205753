/** Which groups are drawn as tracks by level, and how deep. */
import { navigate, useParams } from "../state/urlStore";
import { Popover } from "../ui/Popover";
import { formatLevels, LEVELLED, MAX_LEVELS, parseLevels, type Levelled } from "./levels";
import type { Stack } from "./stack";

const TITLES: Readonly<Record<Levelled, string>> = { modules: "Modules", ranges: "User ranges", scopes: "Scopes of operators" };
const DEPTHS = Array.from({ length: MAX_LEVELS + 1 }, (_, depth) => depth);

export function LevelsControl({ stack }: { readonly stack: Stack }) {
  const depths = parseLevels(useParams()["levels"]);
  const isOn = LEVELLED.some((name) => depths[name] > 0);
  const isMissing = (name: Levelled) => depths[name] > 0 && !stack.tracks.some(({ key, lanes }) => key.includes(`levels.${name}.`) && lanes > 0);
  return (
    <Popover label={isOn ? "Levels shown ▾" : "Levels ▾"} title="Modules, user ranges and scopes of operators (MindSpore) as tracks by level, on the host and on devices">
      {() => (
        <div className="menu">
          {LEVELLED.map((name) => (
            <label key={name} className="tl-levels">
              {TITLES[name]}
              <select className="field" aria-label={`${TITLES[name]} shown`} value={depths[name]} onChange={({ target }) => navigate({ levels: formatLevels({ ...depths, [name]: Number(target.value) }) })}>
                {DEPTHS.map((depth) => (
                  <option key={depth} value={depth}>
                    {depth === 0 ? "off" : depth === 1 ? "1 level" : `${depth} levels`}
                  </option>
                ))}
              </select>
              {isMissing(name) && <small className="soft">none recorded</small>}
            </label>
          ))}
          <small className="soft">On a device, a call spans from the first start to the last end of the work it launched.</small>
        </div>
      )}
    </Popover>
  );
}
