import { describe, expect, it } from "vitest";
import { pieces, strip } from "./ansi.ts";

describe("pieces", () => {
  it("keeps text as it is", () => {
    expect(pieces("plain <b>text</b>")).toEqual([{ text: "plain <b>text</b>", look: "" }]);
  });

  it("turns colours and weights into classes", () => {
    expect(pieces("\u001b[1;31mbad\u001b[0m then \u001b[92mgood\u001b[39m")).toEqual([
      { text: "bad", look: "fg1 ansi-b" },
      { text: " then ", look: "" },
      { text: "good", look: "fg10" },
    ]);
  });

  it("brings 256 colours and true colour to the nearest of sixteen", () => {
    expect(pieces("\u001b[38;5;196mred")[0]?.look).toBe("fg9");
    expect(pieces("\u001b[38;2;20;200;30mgreen")[0]?.look).toBe("fg2");
    expect(pieces("\u001b[48;5;21mblue")[0]?.look).toBe("bg12");
  });

  it("drops titles, links, cursor moves and bare control characters", () => {
    const text = "\u001b]0;owned\u0007a\u001b]8;;http://x\u001b\\b\u001b[2J\u001b[10;10Hc\u0000\u009b31md\u001b(Be";
    expect(strip(text)).toBe("abc31mde");
    expect(
      pieces(text)
        .map((piece) => piece.text)
        .join(""),
    ).toBe("abc31mde");
  });

  it("shows the last state of a line that was written over", () => {
    expect(strip("10 %\r50 %\r100 %")).toBe("100 %");
    expect(strip("done\r")).toBe("done");
  });

  it("ends an unfinished sequence at the end of the line", () => {
    expect(strip("x\u001b]0;never ended")).toBe("x");
    expect(strip("x\u001b[")).toBe("x");
  });
});
