import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { MidwatchError } from "../core/errors.ts";
import { readSettings } from "./settings.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const env = { HOOK_SECRET: SECRET, SLACK_URL: "https://hooks.slack.com/services/T0/B0/sesame-street" };
const hook = { to: "webhook", url: "https://example.com/hook", secret: { env: "HOOK_SECRET" } };

function refusal(alerts: unknown): string {
  try {
    readSettings(alerts, { env, folder: "/nowhere" });
  } catch (error) {
    if (error instanceof MidwatchError && error.code === "BAD_CONFIG") return `${error.message} ${error.hint}`;
    throw error;
  }
  throw new Error("was taken");
}
const route = (fields: object): unknown => ({ routes: { ops: fields } });
const rule = (fields: object): unknown => ({ routes: { ops: hook, phone: { to: "bell" } }, rules: [fields] });

describe("settings of alerts", () => {
  it("R-003.22: take routes and rules, with secrets from variables and files", () => {
    const at = folder();
    writeFileSync(join(at, "token"), "tk_in_a_file\n");
    const settings = readSettings(
      {
        routes: {
          hook,
          chat: { to: "slack", url: { env: "SLACK_URL" } },
          phone: { to: "ntfy", url: "http://10.0.0.7/topic", token: { file: "token" }, private: true },
          mail: { to: "command", argv: ["mail-alert", "me"] },
        },
        rules: [{ type: ["error", "agent.*"], severity: "warning", outcome: "failed", routes: "hook" }],
      },
      { env, folder: at },
    );
    expect(settings.routes).toMatchObject([
      { name: "hook", to: "webhook", private: false, key: Buffer.alloc(32, 7) },
      { name: "chat", to: "slack" },
      { name: "phone", token: "tk_in_a_file", private: true },
      { name: "mail", argv: ["mail-alert", "me"] },
    ]);
    expect(settings.rules).toEqual([
      { type: ["error", "agent.*"], severity: "warning", outcome: ["failed"], routes: ["hook"] },
    ]);
    expect(settings.secrets).toEqual([SECRET, env.SLACK_URL, "tk_in_a_file"]);
  });

  it("without rules, errors and worse go everywhere, and what is told of budgets", () => {
    expect(readSettings(route(hook), { env, folder: "/" }).rules).toEqual([
      { severity: "error", routes: ["ops"] },
      { type: ["budget.*"], routes: ["ops"] },
    ]);
  });

  it.each([
    [[], /alerts is not an object/i],
    [{ route: {} }, /"route" of alerts is not known.*Did you mean routes/i],
    [{ routes: { "Ops!": {} } }, /"Ops!" cannot be the name of a route/],
    [route({ to: "slak", url: { env: "SLACK_URL" } }), /"slak" is not known.*Did you mean slack/],
    [route({ url: "x" }), /`to` of the route ops is missing.*webhook, slack/],
    [route({ ...hook, secrets: 1 }), /"secrets" of the route ops is not known.*Did you mean secret/],
    [route({ ...hook, url: "example.com/hook" }), /is not an address/],
    [route({ ...hook, url: "ftp://example.com" }), /is not an address/],
    [route({ ...hook, url: "http://example.com" }), /begins with http:.*"private": true/],
    [route({ ...hook, url: "https://me:sesame@example.com" }), /holds a user or password/],
    [route({ ...hook, url: "https://127.1/" }), /private network/],
    [route({ ...hook, url: "https://[::ffff:10.0.0.1]/" }), /private network/],
    [route({ ...hook, url: "https://localhost./" }), /private network/],
    [route({ to: "webhook", url: "https://example.com" }), /has no secret.*openssl rand/],
    [route({ ...hook, secret: { env: "HOOK_SECRETS" } }), /"HOOK_SECRETS", which is not set. Did you mean HOOK_SECRET/],
    [route({ ...hook, secret: { env: "SLACK_URL" } }), /has no usable secret/],
    [route({ ...hook, secret: { file: "gone" } }), /"gone", which is empty or cannot be read/],
    [route({ ...hook, secret: {} }), /neither a variable nor a file/],
    [route({ ...hook, secret: SECRET }), /must not stand in the configuration.*"env"/],
    [route({ to: "slack", url: "https://hooks.slack.com/sesame" }), /is a secret/],
    [route({ to: "ntfy", url: "https://ntfy.sh/" }), /names no topic/],
    [route({ to: "command", argv: "mail me" }), /not a list of words/],
    [route({ ...hook, private: "yes" }), /not true or false/],
    [rule({ routes: ["opps"] }), /"opps" is not known. Did you mean ops\? There are: ops, phone/],
    [rule({ type: "error" }), /names no routes. There are: ops, phone/],
    [rule({ severty: "error", routes: "ops" }), /"severty" of rule 1 of alerts is not known. Did you mean severity/],
    [rule({ severity: "eror", routes: "ops" }), /Did you mean error/],
    [rule({ outcome: ["faild"], routes: "ops" }), /Did you mean failed/],
    [rule({ verdict: "blokced", routes: "ops" }), /Did you mean blocked/],
    [rule({ type: "Error", routes: "ops" }), /"Error" is no type/],
  ])("refuse %j", (alerts, said) => {
    const text = refusal(alerts);
    expect(text).toMatch(said);
    expect(text).not.toMatch(/sesame|BwcHBw/);
  });
});
