/** Where secrets stand in some bytes: shapes, named values and armoured keys, in the bytes as a person sees them. */
import type { Span } from "../secret-values.ts";
import { Stretches } from "./alphabet.ts";
import { BLOCK, Blocks } from "./blocks.ts";
import { ADDRESS, matchAddress, matchNamed, matchScheme, NAMES, SCHEMES } from "./named.ts";
import { RULES } from "./rules.ts";
import { type Found, matchShape, shapesOf } from "./shapes.ts";
import { Trigger } from "./trigger.ts";
import { ESCAPES, isVeiled, see, type View } from "./view.ts";

/** What is sought at a sight; the last kind is an escape, at whose sight the bytes are read as a person sees them. */
const SHAPES = RULES.flatMap(shapesOf);
const [NAME, SCHEME] = [SHAPES.length, SHAPES.length + NAMES.length];
const ADDRESS_KIND = SCHEME + SCHEMES.length;
const BLOCK_KIND = ADDRESS_KIND + 1;
const ESCAPE_KIND = ADDRESS_KIND + 2;

let made: { all: Trigger; escapes: Trigger } | undefined;
function triggers(): { all: Trigger; escapes: Trigger } {
  const sights = [...SHAPES, ...NAMES, ...SCHEMES].map(({ sight }) => [sight]);
  made ??= {
    all: new Trigger([...sights, [ADDRESS], [BLOCK], [...ESCAPES]]),
    escapes: new Trigger([[...ESCAPES]]),
  };
  return made;
}

/** Whether there can be anything at all: asked first of all text, and nearly all of it has nothing. */
export function mayHide(text: string | Uint8Array): boolean {
  const veiled = typeof text === "string" ? text.includes("%") || text.includes("\u001b") : isVeiled(text);
  return veiled || triggers().all.isIn(text);
}

export interface Hidden {
  /** In order; none overlaps another. */
  spans: Span[];
  /** The text ends within an armoured key. */
  goesOn: boolean;
}

/** `open`: at the end of the bytes, what begins like a key counts as one, because the rest may come later. */
export function findSecrets(bytes: Uint8Array, open: boolean): Hidden {
  const view = viewOf(bytes);
  const { spans, goesOn } = findIn(view?.bytes ?? bytes, open);
  return { spans: view === undefined ? spans : toBytes(view, spans), goesOn };
}

/** Undefined where a person sees just the bytes. */
export function viewOf(bytes: Uint8Array): View | undefined {
  return isVeiled(bytes) || triggers().escapes.isIn(bytes) || hasSlashEscape(bytes) ? see(bytes) : undefined;
}

function hasSlashEscape(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes("\\/");
}

export function toBytes({ starts, ends }: View, spans: readonly Span[]): Span[] {
  return merged(spans.map(({ start, end }) => ({ start: starts[start] as number, end: ends[end - 1] as number })));
}

/** In order, with those that touch or overlap as one. */
export function merged(spans: readonly Span[]): Span[] {
  const all: Span[] = [];
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
    else all.push({ start, end });
  }
  return all;
}

function findIn(bytes: Uint8Array, open: boolean): Hidden {
  const runs = new Stretches(bytes);
  const blocks = new Blocks(bytes, runs);
  const spans: Span[] = [];
  let goesOn = false;
  const match = (kind: number, last: number): Found | undefined => {
    const shape = SHAPES[kind];
    if (shape !== undefined) return matchShape(shape, bytes, last - shape.behind, runs, open);
    if (kind < SCHEME) return matchNamed(NAMES[kind - NAME] as (typeof NAMES)[number], bytes, last, runs, open);
    if (kind < ADDRESS_KIND) return matchScheme(SCHEMES[kind - SCHEME] as (typeof SCHEMES)[number], bytes, last, runs);
    if (kind === ADDRESS_KIND) return matchAddress(bytes, last, open);
    if (kind !== BLOCK_KIND) return undefined;
    const block = blocks.match(last);
    goesOn ||= block?.goesOn === true;
    return block;
  };
  triggers().all.visit(bytes, (kind, last) => {
    if (kind === ESCAPE_KIND) return last + 1;
    const found = match(kind, last);
    if (found === undefined || found.end <= found.start) return last + 1;
    spans.push({ start: found.start, end: found.end });
    return found.end;
  });
  return { spans: merged(spans), goesOn };
}
