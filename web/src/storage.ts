/** What this browser keeps for us, by origin. */

/** A browser may refuse to keep anything; the page works without. */
export function remembered(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Private windows may have no storage.
  }
}
