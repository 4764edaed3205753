/** By which of their names kernels are shown, here and everywhere. */
import { MODE_TITLES, NAME_MODES, nameModeOf } from "../lib/names";
import { setNameMode, useNameMode } from "../state/nameMode";

export function NameModeField() {
  const mode = useNameMode();
  return (
    <select
      className="field"
      aria-label="Names of kernels"
      title="By which of their names kernels are shown, in every view; hovering a name shows it whole"
      value={mode}
      onChange={({ target }) => setNameMode(nameModeOf(target.value))}
    >
      {NAME_MODES.map((each) => (
        <option key={each} value={each}>
          {MODE_TITLES[each]} names
        </option>
      ))}
    </select>
  );
}
