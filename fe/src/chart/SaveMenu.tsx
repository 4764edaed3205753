/** The menu of every chart: save the picture or the data. */
import { saveFile } from "../lib/download";
import { Popover } from "../ui/Popover";

interface Props {
  readonly fileName: string;
  /** Saves the picture as PNG. */
  readonly savePicture: () => void;
  /** The picture as SVG, where it consists of few shapes. */
  readonly svg?: () => string | Promise<string>;
  readonly csv: () => string;
}

export function SaveMenu({ fileName, savePicture, svg, csv }: Props) {
  const saveSvg = async (picture: () => string | Promise<string>) => saveFile(`${fileName}.svg`, "image/svg+xml;charset=utf-8", await picture());
  return (
    <Popover label="Save" title="Save the picture or its data" className="button no-print">
      {(close) => {
        const item = (label: string, save: () => void) => (
          <button
            type="button"
            className="button"
            onClick={() => {
              save();
              close();
            }}
          >
            {label}
          </button>
        );
        return (
          <div className="menu">
            {item("Picture as PNG", savePicture)}
            {svg !== undefined && item("Picture as SVG", () => void saveSvg(svg))}
            {item("Data as CSV", () => saveFile(`${fileName}.csv`, "text/csv;charset=utf-8", csv()))}
          </div>
        );
      }}
    </Popover>
  );
}
