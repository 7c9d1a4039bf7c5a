/**
 * A regular expression from outside, that can never hang a reader. V8 runs it with its fast engine and, when that backtracks
 * too much, goes over to an engine whose time is linear in the text. What only the first engine can run is refused.
 */
import { setFlagsFromString } from "node:v8";
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";

let ready = false;

export function lineFilter(pattern: string): (line: Uint8Array) => boolean {
  if (!ready) {
    setFlagsFromString("--enable-experimental-regexp-engine");
    setFlagsFromString("--enable-experimental-regexp-engine-on-excessive-backtracks");
    ready = true;
  }
  let regex: RegExp;
  try {
    regex = new RegExp(pattern);
  } catch (error) {
    throw new MidwatchError(
      "BAD_REGEX",
      `${quote(pattern)} is not a regular expression: ${(error as Error).message}.`,
      {
        hint: "JavaScript's syntax applies; put a backslash before . ( ) [ ] { } * + ? ^ $ | to mean the character itself.",
        cause: error,
      },
    );
  }
  try {
    new RegExp(pattern, "l");
  } catch (error) {
    throw new MidwatchError("BAD_REGEX", `${quote(pattern)} could take for ever on a long line.`, {
      hint: "Do without back references, look-ahead and repetitions such as {1,1000}.",
      cause: error,
    });
  }
  const decoder = new TextDecoder("utf-8");
  return (line) => regex.test(decoder.decode(line));
}
