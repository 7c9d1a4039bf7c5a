/**
 * Who owns which addresses. Each scanner has a memory of its own and gives it to its instance; there is no heap. Below BYTES
 * lie the tables of the checksum, what is searched for, and one byte for each open bracket; pages that nobody touches cost
 * nothing.
 */
export const TABLES: i32 = 0;
export const NEEDLE: i32 = 0x4000;
export const NEEDLE_MAX: i32 = 0x1000;
export const NESTING: i32 = 0x10000;
export const NESTING_MAX: i32 = 0x100000;
/** Where the scanner's own bytes begin, on a page. */
export const BYTES: i32 = NESTING + NESTING_MAX;
/** Loads may reach this far behind the bytes that were asked for; what they find there never counts. */
export const SLACK: i32 = 128;
