/** Why git could not talk to the remote. It answers 128 for nearly everything, so its words (English, LC_ALL=C) have to tell. */
import { maskText } from "../core/mask/mask.ts";

/**
 * `auth`: credentials are missing, wrong or not enough. `gone`: there is no such repository. `race`: somebody else was faster. `policy`: the
 * server does not want it. `too_large`: what is there is more than any journal. `transient`: network or server, may pass. `local`: a lock or
 * a disk of ours.
 */
export type SyncFault = "auth" | "gone" | "race" | "policy" | "too_large" | "transient" | "local";

interface Said {
  /** Null when it was ended for taking too long. */
  code: number | null;
  stdout: string;
  stderr: string;
}

const REJECTED = /^!\t.*\[(remote )?rejected\] ?(.*)$/m;
const FASTER =
  /fetch first|non-fast-forward|stale info|cannot lock ref|failed to update ref|incorrect old value|reference already exists/i;
const LOCAL =
  /\.lock'?: File exists|No space left on device|Disk quota exceeded|Read-only file system|unable to (create|write|open).*(file|object|'\/)|insufficient permission for adding an object|(object file|loose object|packfile) .* (is empty|is corrupt|corrupt)|bad object|invalid sha1 pointer|not a valid object|missing (blob|tree|commit)/i;
const GONE =
  /repository '?.*'? ?not found|does not appear to be a git repository|repository not exported|no such (repository|project)|repository .* does not exist|returned error: (404|410)|No such file or directory|unable to find remote helper|protocol '.*' is not supported|transport '.*' not allowed/i;
const AUTH =
  /could not read (Username|Password)|Authentication failed|Invalid (username|credentials)|Access denied|returned error: (401|403|407)|Permission denied|Permission to .* denied|Host key verification failed|terminal prompts disabled|not authori[sz]ed|SSL certificate problem|server certificate verification failed/i;
const SERVER_BROKEN = /unpacker error|n\/a|internal (server )?error|Internal/;

export function faultOf({ code, stdout, stderr }: Said): SyncFault {
  if (code === null) return "transient";
  const rejected = REJECTED.exec(stdout);
  if (rejected !== null) {
    const why = rejected[2] ?? "";
    if (FASTER.test(why)) return "race";
    return SERVER_BROKEN.test(why) ? "transient" : "policy";
  }
  // What begins with "remote:" is the server's own trouble, or its words to people.
  const own = stderr.replace(/^remote:.*$/gm, "");
  if (LOCAL.test(own)) return "local";
  if (GONE.test(stderr)) return "gone";
  return AUTH.test(stderr) ? "auth" : "transient";
}

/** What it said, for people: the lines that tell, without anything secret. */
export function saidBy({ code, stdout, stderr }: Said): string {
  if (code === null) return "no end in time";
  const lines = `${stderr}\n${REJECTED.exec(stdout)?.[0] ?? ""}`.split("\n").map((line) => line.trim());
  const telling = lines.filter((line) => /^(fatal|error|remote|ssh|!)/.test(line) && !/^remote:\s*$/.test(line));
  const text = (telling.length > 0 ? telling : lines.filter(Boolean)).slice(-4).join(" ").replace(/\s+/g, " ");
  return text === "" ? "it said nothing" : withoutUser(text).slice(0, 500);
}

/** An address without the name and password that may stand in it, for people, files and events. */
export function withoutUser(text: string): string {
  return maskText(text.replace(/(\b[a-z][a-z0-9+.-]*:\/\/)[^/@\s'"]+@/gi, "$1"));
}

/** What a person can do about it. */
export const WHAT_NEXT: Readonly<Record<SyncFault, string>> = {
  auth: "Check the credentials for this remote (`git ls-remote`, `gh auth login`, your ssh agent); sync goes on when they change, or with `midwatch sync`.",
  gone: "Check the address (`sync_remote`) and that the repository exists and you may see it; then `midwatch sync`.",
  race: "Others push all the time; try again.",
  policy: "The server refuses this push: ask its owner, or set another `sync_branch`; then `midwatch sync`.",
  too_large:
    "Somebody pushed what no journal is: look at the branch there (`git log`), remove it or set another `sync_branch`; then `midwatch sync`.",
  transient: "Nothing is lost: events wait here (events.offline.log) and go out when the remote is back.",
  local: "Something on this machine is in the way; the message says what.",
};
