/**
 * Who owns which addresses. Each scanner has a memory of its own and gives it to its instance; there is no heap. Below BYTES
 * lie the tables of the checksum, what is searched for, and one byte for each open bracket.
 */
export const TABLES: i32 = 0;
export const NEEDLE: i32 = 0x4000;
export const NEEDLE_MAX: i32 = 0x1000;
export const NESTING: i32 = 0x10000;
/** LINE_DEPTH of src/core/json.ts. */
export const NESTING_MAX: i32 = 256;
/** Where the scanner's own bytes begin, on a page. */
export const BYTES: i32 = 0x20000;
/** Loads may reach this far behind the bytes that were asked for; what they find there never counts. */
export const SLACK: i32 = 128;
