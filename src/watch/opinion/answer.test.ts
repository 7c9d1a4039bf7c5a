import { expect, it } from "vitest";
import { readAnswer } from "./answer.ts";

const LINES = [
  { line: 7, text: "uses Bash: npm test parser" },
  { line: 9, text: "is answered with an error: parser not found" },
];
const GOOD = {
  activity: "Runs tests.",
  status: "blocked",
  confidence: 0.5,
  reasons: [{ text: "Missing.", quote: "parser   not found" }],
  alignment_keywords: ["Parser", "other"],
  recommended_action: "Look.",
};
const read = (text: string) => readAnswer(text, LINES, "Fix the parser");

it("takes JSON as it is, in a fence, or among words", () => {
  const text = JSON.stringify(GOOD);
  const answer = {
    ...GOOD,
    reasons: [{ ...GOOD.reasons[0], quote: "parser not found", line: 9 }],
    alignment_keywords: ["Parser"],
  };
  for (const form of [text, `\`\`\`json\n${text}\n\`\`\``, `\`\`\`\n${text}\`\`\``, `Here: ${text} I hope that helps.`])
    expect(read(form)).toMatchObject({ answer });
});

it("names what is wrong, so that the model can be told", () => {
  for (const [text, problem] of [
    ["", /not JSON/],
    ["{", /not JSON/],
    ["[]", /expected object/],
    [JSON.stringify({ ...GOOD, status: "fine" }), /^status: /],
    [JSON.stringify({ ...GOOD, confidence: 2 }), /^confidence: /],
    [JSON.stringify({ ...GOOD, reasons: "none" }), /^reasons: /],
    [JSON.stringify({ ...GOOD, activity: " " }), /^activity: /],
  ] as const)
    expect(read(text)).toEqual({ problem: expect.stringMatching(problem) });
});

it("cuts long texts and drops reasons whose quote is nowhere", () => {
  const reasons = [
    { text: "Forged.", quote: "all tests passed" },
    { text: "By chance.", quote: "npm" },
    { text: "", quote: "parser not found" },
    ...Array.from({ length: 9 }, () => ({ text: "x".repeat(9999), quote: "npm test parser" })),
  ];
  const made = read(JSON.stringify({ ...GOOD, activity: "y\n".repeat(9999), reasons }));
  if (!("answer" in made)) throw new Error("was refused");
  expect(made.answer.activity.length).toBeLessThanOrEqual(300);
  expect(made.answer.reasons).toHaveLength(3);
  for (const { text, line } of made.answer.reasons) expect([text.length <= 200, line]).toEqual([true, 7]);
});

it("what it says of a finding counts only with a reason whose quote is there", () => {
  const says = (finding: string, quote: string): unknown => {
    const text = JSON.stringify({ ...GOOD, finding, reasons: [{ text: "It goes round.", quote }] });
    const read = readAnswer(text, LINES, "Fix the parser");
    return "says" in read ? read.says : read.problem;
  };
  const quote = LINES[0]?.text ?? "";
  expect(says("trouble", quote)).toBe("trouble");
  expect(says("no_trouble", quote)).toBe("no_trouble");
  expect(says("unsure", quote)).toBeNull();
  expect(says("trouble", "nothing of this was ever printed")).toBeNull();
  expect(says("certainly", quote)).toContain("finding");
});
