import { describe, expect, it } from "vitest";
import { paint } from "./render.ts";
import { table } from "./table.ts";

const ROWS = [
  ["AGENT", "STATE", "DOES"],
  ["build-190412-3fa9c1", "running", "Uses Bash: npm run build -- --watch and then some more"],
  ["test-190412-77aa01", "completed (exit 0)", "Has ended"],
];
const on = (width: number, color = false) => ({ color, width, fit: true });
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours
const lengths = (text: string): number[] => text.split("\n").map((line) => line.replace(/\u001b\[\d+m/g, "").length);

describe("a table", () => {
  it("fits the terminal; what is typed next is cut last", () => {
    for (const width of [200, 80, 60, 45]) {
      const text = table(ROWS, on(width));
      expect(Math.max(...lengths(text))).toBeLessThanOrEqual(width);
      expect(text).toContain("build-190412-3fa9c1");
    }
    expect(Math.max(...lengths(table(ROWS, on(30))))).toBeLessThanOrEqual(30);
    expect(table(ROWS, on(60))).toContain("…");
    expect(table(ROWS, on(5)).split("\n")).toHaveLength(3);
  });

  it("is whole where a program reads it", () => {
    const text = table(ROWS, { color: false, width: 40, fit: false });
    expect(text).not.toContain("…");
    expect(text).toContain("and then some more");
  });

  it("counts what a terminal shows: no colours, two columns for wide characters, none for marks", () => {
    const options = on(200, true);
    const text = table(
      [
        [paint("running", "green", options), "|"],
        ["日本語", "|"],
        ["e\u0301", "|"],
      ],
      options,
    );
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours
    const bars = text.replace(/\u001b\[\d+m/g, "").split("\n");
    expect(bars).toEqual(["running  |", "日本語   |", "e\u0301        |"]);
  });

  it("holds nothing that a terminal obeys, and keeps colour when it cuts", () => {
    expect(table([["a\u001b]0;title\u0007b\nc", "x"]])).toBe("a␛]0;title␇b c  x");
    const painted = paint("a long word that is red", "red", on(20, true));
    expect(table([["id", painted]], on(14, true))).toBe("id  \u001b[31ma long wo…\u001b[0m");
  });
});
