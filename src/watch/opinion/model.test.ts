import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../../../test/support/folder.ts";
import { type ConfigSources, loadConfig } from "../../core/config/config.ts";
import { MidwatchError } from "../../core/errors.ts";
import { openModel } from "./model.ts";

async function refused(llm: object, env: Record<string, string> = {}, at = "/"): Promise<string> {
  const sources: ConfigSources = { file: { llm } };
  const error = await openModel(loadConfig(sources), env, at).catch((thrown: unknown) => thrown);
  if (!(error instanceof MidwatchError)) throw new Error(`was not refused: ${error}`);
  return `${error.code} ${error.message} ${error.hint}`;
}

it("says what is missing: a key, its file, an address, a safe way for the key", async () => {
  expect(await refused({ provider: "anthropic" })).toMatch(/^NO_LLM .*ANTHROPIC_API_KEY is not set/);
  expect(await refused({ provider: "anthropic", key_env: "MY_KEY" }, { ANTHROPIC_API_KEY: "k" })).toContain("MY_KEY");
  expect(await refused({ provider: "anthropic", key_file: "none" })).toContain("no key to be read in none");
  expect(await refused({ provider: "openai-compatible" })).toContain("needs llm_base_url");
  const plain = { provider: "openai-compatible", base_url: "http://host.example/v1", key_env: "MY_KEY" };
  const text = await refused(plain, { MY_KEY: "the-secret-key" });
  expect(text).toContain("not sent without encryption");
  expect(text).not.toContain("the-secret-key");
});

it("takes the key from a file beside the workspace, and hides it", async () => {
  const at = folder();
  writeFileSync(join(at, "key"), "the-secret-key\nmore\n");
  const model = await openModel(loadConfig({ file: { llm: { provider: "anthropic", key_file: "key" } } }), {}, at);
  expect(model.name).toBe("claude-haiku-4-5");
  expect(model.hide("say the-secret-key twice: the-secret-key")).toBe("say [masked] twice: [masked]");
});
