import { describe, expect, it } from "vitest";
import { questionIn } from "./question.ts";

describe("last words that ask a person", () => {
  it.each([
    ["There are two. Which database should I use? Please tell me.", "Which database should I use? Please tell me."],
    [
      "Two ways:\n\n1. Rebuild the index\n2. Repair it\n\nWhich approach do you prefer?",
      "Which approach do you prefer?",
    ],
    ["Which approach do you prefer?\n\n- A: fast\n- B: safe", "Which approach do you prefer?"],
    ["Which items should I start with? I'd suggest the first.", "Which items should I start with?"],
    ["**Should we remove the check entirely?**", "Should we remove the check entirely?"],
    ["The plan is ready. Want me to proceed with Option A?", "Want me to proceed with Option A?"],
    ["Which approach?", "Which approach?"],
    ["Please confirm that I may delete the table.", "Please confirm that I may delete the table."],
    ["I am waiting for your approval.", "I am waiting for your approval."],
  ])("%j", (text, question) => expect(questionIn(text)).toBe(question));
});

describe("last words that ask nothing", () => {
  it.each([
    null,
    "",
    "Done. All tests pass.",
    "Would you like me to commit these changes?",
    "Done. Is there anything else I can help you with?",
    "Let me know if you need anything else.",
    "If you prefer the other name, please tell me.",
    "It prints: Please run 'make' from within a repository.",
    "Which of the two is called? The second: it is in `b.ts`, line 4.",
    "The prompt is now:\n\n```\nWhich database do you want?\n```",
    "Does this explanation make sense?",
  ])("%j", (text) => expect(questionIn(text)).toBeNull());

  it("a long question is cut", () => {
    expect(questionIn(`Should I ${"really ".repeat(100)}do it?`)?.length).toBe(240);
  });
});
