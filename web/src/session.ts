/**
 * Who this browser is to the server. A login link comes with a session in the page; it is kept in the storage of this origin, which has its port, and so
 * goes to no other server of this machine, as a cookie would.
 */
import { signal } from "@preact/signals";
import { remember, remembered } from "./theme.ts";

const KEY = "midwatch.session";

const given = document.querySelector<HTMLMetaElement>('meta[name="midwatch-session"]')?.content;
const atLink = location.pathname.startsWith("/login/");
const session: string | null = given ?? remembered(KEY);

/** The link in the address was spent before. */
export const usedLink: boolean = atLink && given === undefined;
/** The session is over or there never was one: everything else is pointless until the person opens a new link. */
export const signedOut = signal(session === null);

if (given !== undefined) remember(KEY, given);
// The address of a page that is shared or loaded again is that of the page.
if (atLink) history.replaceState(null, "", `/${location.hash}`);

/** Sent with every request. */
export const bearer = { authorization: `Bearer ${session}` };
/** A WebSocket of a browser can carry no header of ours; the server answers with the first. */
export const protocols: string[] = ["midwatch", `session.${session}`];
