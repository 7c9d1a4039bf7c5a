/** A tool's input in one line: the field that says most, bounded and without secrets. */

import { maskText } from "../core/mask/mask.ts";
import { oneLine } from "../core/text/one-line.ts";
import { inputText } from "../judge/input-text.ts";

const CHARS = 120;
const TELLING = ["command", "file_path", "filePath", "path", "url", "pattern", "query", "prompt"] as const;

export function callText(input: unknown): string {
  const fields = typeof input === "object" && input !== null ? (input as Record<string, unknown>) : {};
  const told = TELLING.map((name) => fields[name]).find((value) => typeof value === "string" && value !== "");
  return oneLine(maskText(((told as string | undefined) ?? inputText(input)).slice(0, CHARS * 8)), CHARS);
}
