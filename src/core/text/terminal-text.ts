/**
 * Text of others for a terminal: nothing in it moves the cursor, clears the screen, sets a title or the clipboard, or makes the words stand in
 * another order than they are read in. What a terminal would obey is shown instead: a control character as its picture, an invisible one as its number.
 */

/** Colours of the foreground that can be read on black and on white, bold, dim, italic, underlined, and their ends. */
const STYLE = /^([0-4]|2[234]|3[1-69]|9[1-6])?$/;
/**
 * A whole style, or one character: C0 but tab and newline, DEL, C1, marks and overrides of direction, separators of lines, what has no
 * width, tags. The joiners U+200C and U+200D stay: scripts and emoji need them. Of a CR LF only the LF counts.
 */
const OBEYED =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
  /\u001b\[[\d;:]*m|[\0-\b\v-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

/** With `styles`, those that can do no harm stay. */
export function terminalText(text: string, styles = true): string {
  return text.replace(OBEYED, (found, at: number) => {
    if (found === "\r" && text[at + 1] === "\n") return "";
    if (found.length > 2) {
      const harmless =
        styles &&
        found
          .slice(2, -1)
          .split(";")
          .every((one) => STYLE.test(one));
      return harmless ? found : "";
    }
    const code = found.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return Array.from({ length: found.length }, (_, i) => `\\u${hex(found.charCodeAt(i))}`).join("");
  });
}

function hex(code: number): string {
  return code.toString(16).padStart(4, "0");
}
