/** A choice of one value: buttons, or a list when there are many. */
interface Props {
  readonly label: string;
  readonly values: readonly string[];
  readonly value: string;
  readonly onPick: (value: string) => void;
  readonly title?: (value: string) => string;
}

/** More values than this become a list. */
const MAX_BUTTONS = 8;

export function Segmented({ label, values, value, onPick, title = (each) => each }: Props) {
  if (values.length < 2) return null;
  if (values.length > MAX_BUTTONS) {
    return (
      <select className="field no-print" aria-label={label} value={value} onChange={({ target }) => onPick(target.value)}>
        {values.map((each) => (
          <option key={each} value={each}>
            {title(each)}
          </option>
        ))}
      </select>
    );
  }
  return (
    <span className="segmented no-print" role="group" aria-label={label}>
      {values.map((each) => (
        <button key={each} type="button" className="button" aria-pressed={each === value} onClick={() => onPick(each)}>
          {title(each)}
        </button>
      ))}
    </span>
  );
}
