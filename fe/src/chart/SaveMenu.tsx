/** The menu of every chart: save the picture or the data. */
import { saveFile } from "../lib/download";
import { Popover } from "../ui/Popover";

interface Props {
  readonly fileName: string;
  readonly savePicture: () => void;
  readonly csv: () => string;
}

export function SaveMenu({ fileName, savePicture, csv }: Props) {
  return (
    <Popover label="Save" title="Save the picture or its data" className="button no-print">
      {(close) => (
        <div className="menu">
          <button
            type="button"
            className="button"
            onClick={() => {
              savePicture();
              close();
            }}
          >
            Picture as PNG
          </button>
          <button
            type="button"
            className="button"
            onClick={() => {
              saveFile(`${fileName}.csv`, "text/csv;charset=utf-8", csv());
              close();
            }}
          >
            Data as CSV
          </button>
        </div>
      )}
    </Popover>
  );
}
