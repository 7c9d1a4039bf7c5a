import { describe, expect, it } from "vitest";
import { terminalText } from "./terminal-text.ts";

const ESC = "\u001b";

describe("text for a terminal", () => {
  it.each([
    ["plain text, tabs and lines stay", "a\tb\nc", "a\tb\nc"],
    ["letters of any script stay, with their joiners", "שלום می‌روم 👩‍💻 é", "שלום می‌روم 👩‍💻 é"],
    ["a screen is not cleared", `a${ESC}[2J${ESC}[Hb`, "a␛[2J␛[Hb"],
    ["a title is not set", `${ESC}]0;pwned\u0007x`, "␛]0;pwned␇x"],
    ["the clipboard is not set", `${ESC}]52;c;cm0gLXJm${ESC}\\`, "␛]52;c;cm0gLXJm␛\\"],
    ["a link is not made", `${ESC}]8;;http://evil${ESC}\\text`, "␛]8;;http://evil␛\\text"],
    ["a device is asked nothing", `${ESC}P$q"p${ESC}\\${ESC}[c${ESC}[6n`, '␛P$q"p␛\\␛[c␛[6n'],
    ["the 8-bit forms are no way around", "\u009b2J\u009d0;x\u009c\u0090", "\\u009b2J\\u009d0;x\\u009c\\u0090"],
    ["a line is not written over", "rm -rf /\rls       ", "rm -rf /␍ls       "],
    ["lines of Windows are lines", "a\r\nb\r\n", "a\nb\n"],
    ["nothing is rubbed out", "abc\b\b\bxyz\u007f", "abc␈␈␈xyz␡"],
    ["words are not turned round", "file\u202egnp.exe\u2066x\u2069", "file\\u202egnp.exe\\u2066x\\u2069"],
    ["what has no width is seen", "ad\u200bmin\ufeff\u2060\u00ad", "ad\\u200bmin\\ufeff\\u2060\\u00ad"],
    ["tags are seen", "a\u{e0041}b", "a\\udb40\\udc41b"],
    ["separators of lines are seen", "a\u2028b\u2029", "a\\u2028b\\u2029"],
    ["colours that can be read stay", `${ESC}[1;32mok${ESC}[0m${ESC}[m`, `${ESC}[1;32mok${ESC}[0m${ESC}[m`],
    ["what hides text goes", `${ESC}[8mx${ESC}[30;40my${ESC}[7mz${ESC}[38;5;0mw`, "xyzw"],
    ["half a sequence is none", `a${ESC}`, "a␛"],
  ])("%s", (_, given, shown) => expect(terminalText(given)).toBe(shown));

  it("without styles there are none", () => expect(terminalText(`${ESC}[31mred${ESC}[0m`, false)).toBe("red"));

  it("JSON stays JSON", () => {
    const value = { text: `${ESC}[2J\u009b\u202e\u{e0041}\u0007` };
    expect(JSON.parse(terminalText(JSON.stringify(value)))).toEqual(value);
  });

  it("whatever is given, nothing is left that a terminal obeys, and twice is the same as once", () => {
    for (let code = 0; code < 0x3000; code++) {
      const shown = terminalText(`x${String.fromCharCode(code)}[2Jy`);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: what is looked for
      expect(shown).not.toMatch(/[\0-\b\v-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
      expect(terminalText(shown)).toBe(shown);
    }
  });
});
