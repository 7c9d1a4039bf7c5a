/**
 * Who this browser is to the server. A login link comes with a session in the page; it is kept in the storage of this origin, which has its port, and so
 * goes to no other server of this machine, as a cookie would.
 */
import { signal } from "@preact/signals";
import { remember, remembered } from "./storage.ts";

const KEY = "midwatch.session";

/** The session is over or there never was one: everything else is pointless until the person opens a new link. */
export const signedOut = signal(false);
/** The link in the address was spent before. */
export const usedLink = signal(false);
let session: string | null = null;

/** Before anything is asked. */
export function beginSession(): void {
  const given = document.querySelector<HTMLMetaElement>('meta[name="midwatch-session"]')?.content;
  const atLink = location.pathname.startsWith("/login/");
  session = given ?? remembered(KEY);
  signedOut.value = session === null;
  usedLink.value = atLink && given === undefined;
  if (given !== undefined) remember(KEY, given);
  // The address of a page that is shared or loaded again is that of the page.
  if (atLink) history.replaceState(null, "", `/${location.hash}`);
}

/** Sent with every request. */
export function bearer(): { authorization: string } {
  return { authorization: `Bearer ${session}` };
}

/** A WebSocket of a browser can carry no header of ours; the server answers with the first. */
export function protocols(): string[] {
  return ["midwatch", `session.${session}`];
}
