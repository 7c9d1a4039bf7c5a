import { expect, it } from "vitest";
import { operations } from "../../operations/index.ts";
import { commandHelp, overview } from "./help.ts";

const plain = (text: string): string => text;
/** What is to be copied is never broken. */
const breakable = (line: string): boolean => !/^ {2}(\S.*\| |source |git |midwatch )|^Usage:/.test(line);

it("help fits the terminal: every text is broken between words, and none is lost", () => {
  for (const operation of operations) {
    const narrow = commandHelp(operation, plain, 80);
    const whole = commandHelp(operation, plain, Number.POSITIVE_INFINITY);
    const words = (text: string): string[] => text.split(/\s+/);
    expect(words(narrow)).toEqual(words(whole));
    const long = narrow.split("\n").filter((line) => line.length > 80 && breakable(line));
    // Beside very long flags there is no room for a second column.
    expect(long.filter((line) => !/^ {6}--\S+ \S{20,}/.test(line))).toEqual([]);
  }
  expect(
    overview(operations, plain, 80)
      .split("\n")
      .filter((line) => line.length > 80),
  ).toEqual([]);
});
