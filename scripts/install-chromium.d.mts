/** The path of a Chromium: `CHROMIUM_PATH`, or the first one in PATH. */
export function findChromium(): string | undefined
