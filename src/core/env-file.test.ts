import { expect, it } from "vitest";
import { parseEnvFile } from "./env-file.ts";

it("reads what shells write", () => {
  const text = `# comment\nA=1\nexport B = two words \n\nC="quoted \\"x\\""\r\nD='$HOME'\nE=\nF=a=b#c\n`;
  expect(parseEnvFile(text, ".env")).toEqual({
    A: "1",
    B: "two words",
    C: 'quoted "x"',
    D: "$HOME",
    E: "",
    F: "a=b#c",
  });
});

it("names the line that is wrong, and never the value", () => {
  expect(() => parseEnvFile("A=1\nsk-secret value\n", ".env")).toThrow(/^\.env, line 2 is not NAME=value\.$/);
});
