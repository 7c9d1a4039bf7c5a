/** Text that a caller gives by a file or by the standard input: read to its end, bounded, and as UTF-8 or not at all. */
import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";
import { PROMPT_BYTES } from "../core/intent.ts";
import { type Context, usage } from "./operation.ts";

export interface PromptInput {
  prompt?: string | undefined;
  prompt_file?: string | undefined;
}

/** The prompt of a run: given as a word, by a file, or by the standard input. */
export async function promptOf(context: Context, { prompt, prompt_file }: PromptInput): Promise<string | undefined> {
  if (prompt_file !== undefined && prompt !== undefined)
    throw usage("Give a prompt or --prompt-file, not both.", "Put all of it into the file.");
  const path = prompt_file ?? (prompt === "-" && context.door === "cli" ? prompt : undefined);
  return path === undefined ? prompt : await readInput(context, path, "The prompt", PROMPT_BYTES);
}

/** `-` is the standard input. `what` names the text in errors: "The prompt". */
export async function readInput(context: Context, path: string, what: string, maxBytes: number): Promise<string> {
  if (context.door !== "cli")
    throw usage(
      `${what} cannot be read from ${quote(path)} here.`,
      "Files and the standard input belong to the command line: send the text itself.",
    );
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of path === "-" ? process.stdin : createReadStream(resolve(context.cwd, path))) {
      parts.push(part as Buffer);
      bytes += (part as Buffer).length;
      if (bytes > maxBytes) break;
    }
  } catch (error) {
    throw new MidwatchError("BAD_PATH", `${what} cannot be read from ${quote(path)}.`, {
      hint: "Check the path and its permissions.",
      cause: error,
    });
  }
  if (bytes > maxBytes)
    throw usage(
      `${what} is longer than ${maxBytes} bytes.`,
      "Put long text into a file that the agent can read, and name that file.",
    );
  return decode(Buffer.concat(parts), what).replace(/\r?\n$/, "");
}

function decode(bytes: Buffer, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new MidwatchError("USAGE", `${what} is not UTF-8 text.`, {
      hint: "Convert it first: iconv -t UTF-8",
      cause: error,
    });
  }
}
