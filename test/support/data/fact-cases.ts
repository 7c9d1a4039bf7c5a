/**
 * Facts of a run as somebody may have changed them: each field of each fact replaced by each kind of JSON, huge, negative, deep or missing, and
 * each fact as a whole by what is none. Where the facts lie is the caller's business.
 */

/** The facts of a run by name, as JSON values. */
export type Facts = Readonly<Record<string, unknown>>;

export interface FactCase {
  fact: string;
  /** Which field, and what became of it. */
  what: string;
  /** All of the file. */
  text: string;
}

const DEEP = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;
const LONG = JSON.stringify("x".repeat(10_000));
/** As text: JSON.stringify would fall over some of them. */
const VALUES: Readonly<Record<string, string>> = {
  null: "null",
  true: "true",
  zero: "0",
  negative: "-1",
  fraction: "1.5",
  huge: "1e308",
  "too large": "1e999",
  unsafe: "9007199254740993",
  empty: '""',
  text: '"x"',
  long: LONG,
  path: '"../../../x"',
  NUL: '"a\\u0000b"',
  "no date": '"2026-02-31T99:99:99Z"',
  "far date": '"+275760-09-13T00:00:00.001Z"',
  list: "[]",
  "list of lists": "[[],{},null,1]",
  object: "{}",
  prototype: '{"__proto__":{"x":1},"constructor":1,"length":-1}',
  deep: DEEP,
};
const WHOLE: readonly string[] = ["", " ", "null", "true", "-1", '"x"', "[]", "{}", "{", "\0", "\ufeff{}", DEEP, LONG];
const MARK = "\u0001here";

/** Every one of them, the same for the same facts. */
export function factCases(facts: Facts): FactCase[] {
  return Object.entries(facts).flatMap(([fact, value]) => {
    const fields = [...places(value)].flatMap(([place, put]) => [
      { fact, what: `${place} missing`, text: JSON.stringify(put(undefined)) },
      ...Object.entries(VALUES).map(([name, text]) => ({
        fact,
        what: `${place} ${name}`,
        text: JSON.stringify(put(MARK)).replace(JSON.stringify(MARK), () => text),
      })),
    ]);
    return [...fields, ...WHOLE.map((text) => ({ fact, what: `all ${JSON.stringify(text).slice(0, 20)}`, text }))];
  });
}

/** Each field below a value, and how the whole looks with another value in its place. Of a list its first entry stands for all. */
function* places(value: unknown, at = ""): Generator<[string, (inner: unknown) => unknown]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value).slice(0, Array.isArray(value) ? 1 : undefined)) {
    const put = (replaced: unknown): unknown =>
      Array.isArray(value) ? value.with(0, replaced) : { ...value, [key]: replaced };
    yield [`${at}${key}`, put];
    for (const [place, deeper] of places(inner, `${at}${key}.`)) yield [place, (replaced) => put(deeper(replaced))];
  }
}
