/** What every bench takes and gives. */

export interface Row {
  promise: string;
  figure: string;
  measured: string;
  peer: string;
  ratio: string;
  bar: string;
  /** Null where nothing is promised. */
  holds: boolean | null;
  note: string;
}

export interface Options {
  /** Small sizes: to see that everything works, not to quote. */
  quick: boolean;
  /** An empty folder of this bench's own; it is removed afterwards. */
  dir: string;
  /** The path of a compiled program of bench/load. */
  load(name: string): string;
  /** Progress for a person who waits. */
  say(text: string): void;
}

export type Bench = (options: Options) => Promise<Row[]>;

const NOTHING = { peer: "", ratio: "", bar: "", holds: null, note: "" };

/** A row in which what is not given is empty. */
export function row(fields: Pick<Row, "promise" | "figure" | "measured"> & Partial<Row>): Row {
  return { ...NOTHING, ...fields };
}

/** `value ≤ most` as the three fields of a bar. */
export function atMost(value: number, most: number, unit: string): Pick<Row, "bar" | "holds"> {
  return { bar: `≤ ${most}${unit}`, holds: value <= most };
}
