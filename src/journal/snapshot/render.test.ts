import { describe, expect, it } from "vitest";
import { headingsOf, renderArchived, renderRecent, type Shown } from "./render.ts";

const event: Shown = { actor: "A", type: "note", content: "", timestamp: "2026-11-18T00:00:00Z" };

/** The text in both views, as the content and as the actor. */
function rendered(text: string): string[] {
  const headings = headingsOf({ note: "{actor} to {to}" });
  const both = { ...event, content: text, actor: text, to: text };
  return [renderRecent(1, [both], 0, headings), renderArchived(both)];
}

describe("what an agent says, in a viewer of Markdown", () => {
  it.each([
    "![pixel](http://evil/x.png)",
    "![ref][1]\n\n[1]: http://evil/x.png",
    "![[embedded.md]]",
    "\\![x](http://evil/x.png)",
    "!\u0000[x](http://evil/x.png)",
    "a\n> ![x](http://evil/x.png)",
    "!![x](http://evil/x.png)",
  ])("loads no image: %j", (text) => {
    for (const view of rendered(text)) expect(view).not.toMatch(/!\[/);
  });

  it.each([
    '<img src="http://evil/x.png">',
    "<script>alert(1)</script>",
    "<IFRAME src=//evil>",
    "<svg/onload=alert(1)>",
    "</div><style>@import url(//evil)</style>",
    "<?php x ?>",
    "<!DOCTYPE x>",
    "<![CDATA[x]]>",
    "<<b>b>",
    "<!-- END COMMUNICATION -->",
    "<h1>mine</h1>",
  ])("is no HTML: %j", (text) => {
    for (const view of rendered(text)) expect(view).not.toMatch(/<[a-z/!?]/i);
  });

  it("does not turn words round", () => {
    for (const view of rendered("a\u202eb\u2066c")) expect(view).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
  });

  it("stays as it was said where it does no harm", () => {
    for (const view of rendered("if a < b && c > d, see [x](y) and wow!")) {
      expect(view).toContain("if a < b && c > d, see [x](y) and wow!");
    }
  });
});
